import type { Virtualizer } from "@tanstack/react-virtual";
import { type UIEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { LogRow } from "./LogLine";

type Options = {
  following: boolean;
  setFollowing: (following: boolean) => void;
  lines: LogRow[];
  virtual: Virtualizer<HTMLDivElement, Element>;
  /** The indexes of the lines that the search and the errors are at. */
  hits: (number | undefined)[];
  /** The index of the line that the address names, or -1. */
  aimed: number;
};

/** Keeps a log at its end until the user scrolls up, and goes to the line that is looked for. */
export function useFollowing({ following, setFollowing, lines, virtual, hits, aimed }: Options) {
  const [seen, setSeen] = useState(0);
  const byHand = useRef(false);
  const pause = () => {
    setFollowing(false);
    setSeen(lines.length);
  };
  const stop = (line: number) => {
    pause();
    byHand.current = false;
    virtual.scrollToIndex(line, { align: "center" });
  };

  // By the last line: of a log that lets lines go, the number of lines stays the same.
  const last = lines.at(-1);
  useLayoutEffect(() => {
    if (following && last) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [following, last, virtual]);
  const [found, error] = hits;
  useStopAt(found, lines, stop);
  useStopAt(error, lines, stop);
  useStopAt(aimed < 0 ? undefined : aimed, lines, (line) => {
    stop(line);
    // On a phone, the log may be far below what led here.
    virtual.scrollElement?.scrollIntoView?.({ block: "nearest" });
  });

  return {
    /** How many lines there were when it stopped following. */
    seen,
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

/** Goes to a line when another one is named, not when lines before it are let go. */
function useStopAt(index: number | undefined, lines: LogRow[], stop: (index: number) => void) {
  const line = index === undefined ? undefined : lines[index];
  useEffect(() => {
    if (index !== undefined) stop(index);
  }, [line]);
}
