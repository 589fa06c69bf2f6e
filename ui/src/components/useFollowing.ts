import type { Virtualizer } from "@tanstack/react-virtual";
import { type UIEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { LogRow } from "./LogLine";
import type { LogLayout } from "./useLogLayout";

type Options = {
  following: boolean;
  setFollowing: (following: boolean) => void;
  lines: LogRow[];
  layout: LogLayout;
  virtual: Virtualizer<HTMLDivElement, Element>;
  /** The index of the line that the address names, or -1, and how often somebody was sent there. */
  aimed: number;
  visit?: number;
};

/** Keeps a log at its end until the user scrolls up, and goes to the line that is looked for. */
export function useFollowing(options: Options) {
  const { following, setFollowing, lines, layout, virtual, aimed, visit } = options;
  const { rows } = layout;
  const [seen, setSeen] = useState(0);
  const byHand = useRef(false);
  const pause = () => {
    setFollowing(false);
    setSeen(lines.length);
  };
  const stop = (row: number, align: "center" | "start" = "center") => {
    pause();
    byHand.current = false;
    virtual.scrollToIndex(row, { align });
  };

  // By the last line: of a log that lets lines go, the number of lines stays the same.
  const last = lines.at(-1);
  useLayoutEffect(() => {
    if (following && rows.at.length > 0)
      virtual.scrollToIndex(rows.at.length - 1, { align: "end" });
  }, [following, last, rows, virtual]);
  useSamePlace(following, { lines, layout, virtual });
  useStopAt(layout.found.line, { lines, layout, stop });
  useStopAt(layout.errors.line, { lines, layout, stop });
  useStopAt(aimed < 0 ? undefined : aimed, {
    lines,
    layout,
    visit,
    stop: (row) => {
      stop(row);
      // On a phone, the log may be far below what led here.
      virtual.scrollElement?.scrollIntoView?.({ block: "nearest" });
    },
  });

  return {
    /** How many lines there were when it stopped following. */
    seen,
    goTo: (row: number) => stop(row, "start"),
    toggle: () => (following ? pause() : setFollowing(true)),
    scrolled: (event: UIEvent<HTMLDivElement>) => {
      const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
      const atEnd = scrollHeight - scrollTop - clientHeight < 24;
      // Going to a line near the end gets there too, and must not be carried on from it.
      if (atEnd && byHand.current) setFollowing(true);
    },
    touched: (pauses: boolean) => {
      byHand.current = true;
      if (pauses && following) pause();
    },
  };
}

type Stop = {
  lines: LogRow[];
  layout: LogLayout;
  visit?: number;
  stop: (row: number) => void;
};

/**
 * Goes to a line when another one is named, when somebody is sent to it once more, and when it is
 * shown again; not when lines before it are let go.
 */
function useStopAt(index: number | undefined, { lines, layout, visit, stop }: Stop) {
  const line = index === undefined ? undefined : lines[index];
  const row = index === undefined ? -1 : layout.rowOf(index);
  useEffect(() => {
    if (row >= 0) stop(row);
  }, [line, row >= 0, visit, layout.shape]);
}

/** Keeps the line at the top where it is when lines are hidden or put in another order. */
function useSamePlace(
  following: boolean,
  { lines, layout, virtual }: Pick<Options, "lines" | "layout" | "virtual">,
) {
  const top = useRef<LogRow>(undefined);
  useLayoutEffect(() => {
    const row = top.current ? layout.rowOf(lines.indexOf(top.current)) : -1;
    if (!following && row >= 0) virtual.scrollToIndex(row, { align: "start" });
  }, [layout.shape]);
  useEffect(() => {
    const at = layout.rows.at[virtual.range?.startIndex ?? -1] ?? -1;
    top.current = at < 0 ? undefined : lines[at];
  });
}
