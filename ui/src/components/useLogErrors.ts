import { useMemo, useRef, useState } from "react";
import { plainText } from "./ansi";
import type { LogRow } from "./LogLine";
import { levelOf, parseRecord } from "./logLevel";

type Scan = { lines: LogRow[]; errors: number[]; records: boolean; levels: boolean };

const nothing: Scan = { lines: [], errors: [], records: false, levels: false };

/** Reads on from what was read before, if these are the same lines and more. */
export function scanLines(before: Scan, lines: LogRow[]): Scan {
  const count = before.lines.length;
  const grown =
    count <= lines.length &&
    before.lines[0] === lines[0] &&
    before.lines[count - 1] === lines[count - 1];
  const scan: Scan = grown
    ? { ...before, lines, errors: before.errors.slice() }
    : { ...nothing, lines, errors: [] };
  for (let at = grown ? count : 0; at < lines.length; at++) {
    const line = lines[at]?.text ?? "";
    const text = line.includes("\u001b") ? plainText(line) : line;
    const level = levelOf(text);
    if (level === "error") scan.errors.push(at);
    scan.levels ||= level !== undefined;
    scan.records ||= parseRecord(text) !== undefined;
  }
  return scan;
}

export type LogErrors = {
  count: number;
  /** Which of them it is at, from 1; 0 before somebody went to one. */
  at: number;
  /** The line it is at. */
  line?: number;
  step: (by: number) => void;
  /** Whether any line says how serious it is, and any can be taken apart. */
  levels: boolean;
  records: boolean;
};

/** The errors of a log, and which of them somebody went to. */
export function useLogErrors(lines: LogRow[]): LogErrors {
  const scan = useRef(nothing);
  const [line, setLine] = useState<LogRow>();
  const read = useMemo(() => {
    scan.current = scanLines(scan.current, lines);
    return scan.current;
  }, [lines]);
  const { errors } = read;
  // Lines are let go at the beginning of a long log: it stays at the line, not at the number.
  const at = line ? errors.findIndex((index) => lines[index] === line) : -1;
  return {
    count: errors.length,
    at: at + 1,
    line: at < 0 ? undefined : errors[at],
    step: (by) => {
      const next = at < 0 ? (by > 0 ? 0 : errors.length - 1) : at + by;
      const index = errors[(next + errors.length) % errors.length];
      setLine(index === undefined ? undefined : lines[index]);
    },
    levels: read.levels,
    records: read.records,
  };
}
