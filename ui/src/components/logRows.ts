import type { LogRow } from "./LogLine";
import type { LogScan } from "./logScan";

// Which lines of a log are drawn, and in which order: equal ones folded, by step, or only those that
// were looked for. Numbers only, so that a long log is laid out anew in no time.

/** All lines of one step or service, where they stand together. */
export type LogGroup = {
  source: string;
  lines: number;
  errors: number;
  /** The indexes of its first and its last line. */
  first: number;
  last: number;
  folded: boolean;
};

export type LogRows = {
  /** The index of each row's line; below zero, the head of the group `-1 - at`. */
  at: number[];
  /** The last line that each row stands for, and how many besides its own: those equal to it. */
  last: number[];
  more: number[];
  /** How many lines were left out before each row. */
  skipped: number[];
  groups: LogGroup[];
  /** How many lines are shown, folded ones too. */
  lines: number;
};

export type LogView = {
  /** Only these lines are shown, and so many around each; all lines without. */
  only?: { hits: boolean[]; around: number };
  /** Whether lines stand by step. */
  grouped: boolean;
  /** The steps whose lines are hidden. */
  folded: ReadonlySet<string>;
  /** Whether equal lines are folded, but for those that begin with one of `opened`. */
  fold: boolean;
  opened: ReadonlySet<LogRow>;
};

/** Rows with what is needed to lay the lines that come after them. */
export type Laying = {
  scan: LogScan;
  view: LogView;
  rows: LogRows;
  end: number;
  open: boolean;
  count: number;
};

/**
 * Lays on where it was, if lines only came and nothing is chosen otherwise: a long log that grows is
 * not laid anew for each of them. The arrays of the rows before are taken over.
 */
export function layOn(before: Laying | undefined, scan: LogScan, view: LogView): Laying {
  const known = before?.count ?? 0;
  const grows =
    before &&
    !view.only &&
    !view.grouped &&
    before.view === view &&
    known <= scan.lines.length &&
    before.scan.lines[0] === scan.lines[0] &&
    before.scan.lines[known - 1] === scan.lines[known - 1];
  if (!grows) return layAll(scan, view);
  const laying = { ...before, scan, rows: { ...before.rows }, count: scan.lines.length };
  for (let place = known; place < scan.lines.length; place++) layLine(laying, place, place, 0);
  return laying;
}

export function layRows(scan: LogScan, view: LogView): LogRows {
  return layAll(scan, view).rows;
}

function layAll(scan: LogScan, view: LogView): Laying {
  const rows: LogRows = { at: [], last: [], more: [], skipped: [], groups: [], lines: 0 };
  const laying: Laying = { scan, view, rows, end: -1, open: false, count: scan.lines.length };
  if (!view.grouped) {
    layLines(laying, scan.lines.length, (place) => place);
    return laying;
  }
  for (const [source, indexes] of splitBySource(scan)) {
    const folded = view.folded.has(source);
    pushRow(rows, -1 - rows.groups.length, 0);
    rows.groups.push({
      source,
      lines: indexes.length,
      errors: indexes.filter((index) => scan.levels[index] === "error").length,
      first: indexes[0] ?? 0,
      last: indexes.at(-1) ?? 0,
      folded,
    });
    laying.end = -1;
    if (!folded) layLines(laying, indexes.length, (place) => indexes[place] as number);
  }
  return laying;
}

function splitBySource({ lines, last }: LogScan): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const source of last.keys()) found.set(source, []);
  lines.forEach(({ source = "" }, index) => {
    const indexes = found.get(source);
    if (indexes) indexes.push(index);
    else found.set(source, [index]);
  });
  for (const [source, indexes] of found) if (indexes.length === 0) found.delete(source);
  return found;
}

/** Lays `count` lines, those that are wanted with the ones around them. */
function layLines(laying: Laying, count: number, indexAt: (place: number) => number) {
  const { only } = laying.view;
  if (!only) {
    for (let place = 0; place < count; place++) layLine(laying, indexAt(place), place, 0);
    return;
  }
  // The first place that is not laid yet.
  let next = 0;
  for (let place = 0; place < count; place++) {
    if (!only.hits[indexAt(place)]) continue;
    const until = Math.min(count - 1, place + only.around);
    for (let one = Math.max(next, place - only.around); one <= until; one++) {
      layLine(laying, indexAt(one), one, one - next);
      next = one + 1;
    }
  }
}

/** `place` is the line's place among those that stand together, and `skipped` how many are left out before it. */
function layLine(laying: Laying, index: number, place: number, skipped: number) {
  const { scan, view, rows } = laying;
  const row = rows.at.length - 1;
  const head = rows.at[row] ?? -1;
  const repeats =
    view.fold &&
    scan.equal[index] === true &&
    head >= 0 &&
    laying.end === place - 1 &&
    scan.lines[head]?.source === scan.lines[index]?.source &&
    (!view.only || view.only.hits[head] === view.only.hits[index]);
  laying.end = place;
  rows.lines++;
  // Opened is the whole stretch that begins with that line.
  if (view.opened.size > 0 && !repeats) laying.open = view.opened.has(scan.lines[index] as LogRow);
  if (repeats && !laying.open) {
    rows.more[row] = (rows.more[row] ?? 0) + 1;
    rows.last[row] = index;
    return;
  }
  pushRow(rows, index, skipped);
}

function pushRow(rows: LogRows, at: number, skipped: number) {
  rows.at.push(at);
  rows.last.push(at);
  rows.more.push(0);
  rows.skipped.push(skipped);
}

/** The row that shows a line, itself or folded; -1 where it is hidden. */
export function rowOf(rows: LogRows, index: number, { lines }: LogScan): number {
  if (index < 0) return -1;
  const { at, last, groups } = rows;
  let [low, high] = [0, at.length - 1];
  if (groups.length > 0) {
    const group = groups.findIndex(({ source }) => source === (lines[index]?.source ?? ""));
    low = at.indexOf(-1 - group) + 1;
    const next = at.indexOf(-2 - group);
    high = next < 0 ? high : next - 1;
  }
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((at[middle] as number) <= index) low = middle;
    else high = middle - 1;
  }
  const head = at[low];
  const shown = head !== undefined && head >= 0 && head <= index && index <= (last[low] ?? -1);
  return shown ? low : -1;
}
