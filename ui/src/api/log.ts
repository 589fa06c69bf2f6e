import type { LogLine } from "./client";

/** How many lines a page keeps of one step; older ones stay on the server. */
const KEEP = 200_000;

/**
 * The lines of one step, in order and without duplicates. `ahead` holds lines after a gap, until
 * the gap has been read.
 */
export type StepLog = { lines: LogLine[]; ahead: LogLine[]; cut: number };

export const emptyLog: StepLog = { lines: [], ahead: [], cut: 0 };

/** The line number to read after, to close a gap or to continue. */
export function lastNumber(log: StepLog): number {
  return log.lines[log.lines.length - 1]?.number ?? log.cut;
}

/** Whether lines are missing between the shown ones and those that arrived. */
export function hasGap(log: StepLog): boolean {
  return log.ahead.length > 0;
}

/** Adds lines in any order. Known lines are ignored. */
export function addLines(log: StepLog, added: LogLine[]): StepLog {
  let last = lastNumber(log);
  const fresh = added.filter((line) => line.number > last);
  if (fresh.length === 0) return log;
  const waiting = [...log.ahead, ...fresh].sort((a, b) => a.number - b.number);
  const lines = log.lines.slice();
  const ahead: LogLine[] = [];
  for (const line of waiting) {
    if (line.number <= last || line.number === ahead[ahead.length - 1]?.number) continue;
    if (ahead.length === 0 && isNextLine(line, last)) {
      lines.push(line);
      last = line.number;
    } else ahead.push(line);
  }
  return trim({ lines, ahead, cut: log.cut });
}

/**
 * Adds a page of lines after `after`. The page is complete, so gaps in its numbers are lines that
 * the server does not have.
 */
export function addPage(log: StepLog, after: number, page: LogLine[]): StepLog {
  const last = lastNumber(log);
  if (after > last) return addLines(log, page);
  const fresh = page.filter((line) => line.number > last);
  const joined = { ...log, lines: [...log.lines, ...fresh], ahead: [] };
  return addLines(trim(joined), log.ahead);
}

/** A line follows when it is the next one, or says itself that the ones between were left out. */
function isNextLine(line: LogLine, last: number): boolean {
  return line.number === last + 1 || line.number - (line.dropped ?? 0) <= last + 1;
}

function trim(log: StepLog): StepLog {
  const over = log.lines.length - KEEP;
  if (over < KEEP / 10) return log;
  return { ...log, lines: log.lines.slice(over), cut: log.lines[over - 1]?.number ?? log.cut };
}
