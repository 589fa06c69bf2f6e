import { plainText } from "./ansi";
import type { LogRow } from "./LogLine";
import { sayAttempt } from "./lineNumber";
import { type Level, levelOf, parseRecord } from "./logLevel";

// What is known of each line of a log. A line is read once, however often the log grows.

export type LogScan = {
  lines: LogRow[];
  levels: (Level | undefined)[];
  /** Whether a line says the same as the one of its source before it. */
  equal: boolean[];
  /** When it was written, in ms. */
  times: number[];
  /** The last line of each source, in the order of their first ones. */
  last: Map<string, LogRow>;
  /** Whether any of them can be taken apart, or says how serious it is. */
  records: boolean;
  leveled: boolean;
};

export const nothingScanned: LogScan = {
  lines: [],
  levels: [],
  equal: [],
  times: [],
  last: new Map(),
  records: false,
  leveled: false,
};

/** How many of the lines known before are gone, if `lines` are the rest of them and more; else -1. */
export function countGone(known: LogRow[], lines: LogRow[]): number {
  if (known.length === 0 || lines.length === 0) return -1;
  const gone = known.indexOf(lines[0] as LogRow);
  const rest = known.length - gone;
  if (gone < 0 || rest > lines.length || known.at(-1) !== lines[rest - 1]) return -1;
  return gone;
}

/**
 * Reads on from what was read before, if these are the rest of those lines and more. What was read
 * before is taken over, not copied: of a long log that would be most of the work.
 */
export function scanLines(before: LogScan, lines: LogRow[]): LogScan {
  const gone = countGone(before.lines, lines);
  const scan: LogScan =
    gone < 0
      ? { ...nothingScanned, lines, levels: [], equal: [], times: [], last: new Map() }
      : { ...before, lines };
  if (gone > 0) {
    scan.levels = before.levels.slice(gone);
    scan.equal = before.equal.slice(gone);
    scan.times = before.times.slice(gone);
  }
  for (let at = scan.times.length; at < lines.length; at++) addLine(scan, lines[at] as LogRow);
  return scan;
}

function addLine(scan: LogScan, line: LogRow) {
  const text = readableText(line);
  const level = levelOf(text);
  const source = line.source ?? "";
  const before = scan.last.get(source);
  scan.levels.push(level);
  scan.equal.push(before !== undefined && saysTheSame(before, line));
  scan.times.push(Date.parse(line.at));
  scan.last.set(source, line);
  scan.leveled ||= level !== undefined;
  scan.records ||= parseRecord(text) !== undefined;
}

/** The line without escape sequences. Few have any, and to look for them costs more. */
export function readableText({ text }: LogRow): string {
  return text.includes("\u001b") ? plainText(text) : text;
}

/** A moment as loggers write it: a date with a time, a time alone, or seconds since 1970. */
const MOMENT =
  /\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d+)?|\b1\d{9}(?:\.\d+|\d{3})?\b/;
/** Two spellings of a moment may differ in length by the zeros at the end of the fraction. */
const LONGER = 9;

/** Whether two lines of one source differ in nothing but the moment that they were written at. */
function saysTheSame(before: LogRow, line: LogRow): boolean {
  if (line.dropped || line.text.trim() === "" || isOtherAttempt(before, line)) return false;
  if (line.text === before.text) return true;
  if (Math.abs(line.text.length - before.text.length) > LONGER || !mayHaveMoment(line.text))
    return false;
  const moment = MOMENT.exec(line.text);
  if (!moment) return false;
  return line.text.replace(MOMENT, "") === before.text.replace(MOMENT, "");
}

/** Most lines of a log are unlike the one before and have none: to see that costs next to nothing. */
function mayHaveMoment(text: string): boolean {
  return text.includes(":") || /1\d{9}/.test(text);
}

function isOtherAttempt(before: LogRow, { number }: LogRow): boolean {
  if (number === undefined || before.number === undefined) return false;
  return sayAttempt(number) !== sayAttempt(before.number);
}

/** Which lines have a text in them; undefined while nothing is looked for. */
export type LogHits = { text: string; lines: LogRow[]; hits: boolean[] };

/** Looks on from where it was, if these are the rest of the lines looked at and more. */
export function searchLines(before: LogHits, lines: LogRow[], text: string): LogHits {
  const gone = before.text === text ? countGone(before.lines, lines) : -1;
  const hits = gone < 0 ? [] : before.hits.slice(gone);
  const wanted = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  for (let at = hits.length; at < lines.length; at++)
    hits.push(wanted.test(readableText(lines[at] as LogRow)));
  return { text, lines, hits };
}
