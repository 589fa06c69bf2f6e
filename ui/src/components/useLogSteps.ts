import { useState } from "react";
import type { LogRow } from "./LogLine";

/** Going from one of some lines to the next. */
export type LineSteps = {
  count: number;
  /** Which of them it is at, from 1; 0 before somebody went to one. */
  at: number;
  /** The line it is at. */
  line?: number;
  step: (by: number) => void;
};

/** `indexes` are of the lines that can be gone to; with `begins`, it is at the first one by itself. */
export function useLogSteps(lines: LogRow[], indexes: number[], begins: boolean): LineSteps {
  const [line, setLine] = useState<LogRow>();
  // Lines are let go at the beginning of a long log: it stays at the line, not at the number.
  const found = line ? indexes.findIndex((index) => lines[index] === line) : -1;
  const at = found < 0 && begins && indexes.length > 0 ? 0 : found;
  return {
    count: indexes.length,
    at: at + 1,
    line: at < 0 ? undefined : indexes[at],
    step: (by) => {
      const next = at < 0 ? (by > 0 ? 0 : indexes.length - 1) : at + by;
      const index = indexes[(next + indexes.length) % indexes.length];
      setLine(index === undefined ? undefined : lines[index]);
    },
  };
}
