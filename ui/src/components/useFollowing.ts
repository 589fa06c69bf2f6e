import type { Virtualizer } from "@tanstack/react-virtual";
import { type UIEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { LogRow } from "./LogLine";

type Options = {
  following: boolean;
  setFollowing: (following: boolean) => void;
  lines: LogRow[];
  virtual: Virtualizer<HTMLDivElement, Element>;
  /** The index of the line that the search is at. */
  hit?: number;
  /** The index of the line that the address names, or -1. */
  aimed: number;
};

/** Keeps a log at its end until the user scrolls up, and goes to the line that is looked for. */
export function useFollowing({ following, setFollowing, lines, virtual, hit, aimed }: Options) {
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
  const hitLine = hit === undefined ? undefined : lines[hit];
  useEffect(() => {
    if (hit !== undefined) stop(hit);
  }, [hitLine]);
  const found = aimed >= 0;
  useEffect(() => {
    if (found) stop(aimed);
  }, [found]);

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
