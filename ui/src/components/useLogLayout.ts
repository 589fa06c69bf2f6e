import { useCallback, useMemo, useRef, useState } from "react";
import type { LogRow } from "./LogLine";
import { type Laying, type LogRows, layOn, rowOf } from "./logRows";
import { type LogScan, nothingScanned, scanLines } from "./logScan";
import type { Find } from "./useLogFind";
import { type LineSteps, useLogSteps } from "./useLogSteps";

export type LogLayout = {
  /** Changes when lines are hidden, shown or put in another order by choice. */
  shape: string;
  scan: LogScan;
  rows: LogRows;
  /** Whether lines of several steps or services can stand by them, and whether they do. */
  groupable: boolean;
  grouped: boolean;
  setGrouped: (grouped: boolean) => void;
  /** Hides the lines of a step, or shows them again. */
  toggleGroup: (source: string) => void;
  /** Hides the lines of all steps, or shows all again. */
  toggleGroups: () => void;
  /** Shows the lines that are folded into one, or folds them again. */
  openEqual: (line: LogRow) => void;
  isOpened: (line: LogRow) => boolean;
  errors: LineSteps;
  found: LineSteps;
  /** The row that shows a line, itself or folded; -1 where it is hidden. */
  rowOf: (index: number) => number;
};

const none: ReadonlySet<string> = new Set();

/** Which lines of a log are drawn, and how; and the lines that one can go to. */
export function useLogLayout(lines: LogRow[], find: Find, raw: boolean): LogLayout {
  const known = useRef(nothingScanned);
  const [wantsGroups, setGrouped] = useState(false);
  const [folded, setFolded] = useState(none);
  const [opened, setOpened] = useState<ReadonlySet<LogRow>>(new Set());
  const scan = useMemo(() => {
    known.current = scanLines(known.current, lines);
    return known.current;
  }, [lines]);
  const groupable = scan.last.size > 1;
  const grouped = wantsGroups && groupable;
  const { hits, around } = find;
  const hides = find.only && !find.far;
  const only = hides ? hits : undefined;
  const looks = hits !== undefined;
  const view = useMemo(
    () => ({
      only: only && { hits: only, around },
      grouped,
      // Who looks for something looks in all steps.
      folded: looks ? none : folded,
      fold: !raw,
      opened,
    }),
    [only, around, grouped, looks, folded, raw, opened],
  );
  const laid = useRef<Laying>(undefined);
  const rows = useMemo(() => {
    laid.current = layOn(laid.current, scan, view);
    return laid.current.rows;
  }, [scan, view]);

  const stops = useMemo(() => listStops(scan, rows, hits), [scan, rows, hits]);
  const errors = useLogSteps(lines, stops.errors, false);
  const found = useLogSteps(lines, stops.found, true);
  const openEqual = useCallback((line: LogRow) => setOpened((before) => toggled(before, line)), []);
  const sources = rows.groups.map(({ source }) => source);
  return {
    shape: [hides && around, grouped, raw].join(),
    scan,
    rows,
    groupable,
    grouped,
    setGrouped,
    toggleGroup: (source) => setFolded(toggled(folded, source)),
    toggleGroups: () => setFolded(folded.size > 0 ? none : new Set(sources)),
    openEqual,
    isOpened: (line) => !raw && opened.has(line),
    errors,
    found,
    rowOf: (index) => rowOf(rows, index, scan),
  };
}

function toggled<T>(set: ReadonlySet<T>, one: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(one)) next.add(one);
  return next;
}

/** The lines to go to: of those folded into one, that one. */
function listStops({ levels }: LogScan, rows: LogRows, hits?: boolean[]) {
  const stops: { errors: number[]; found: number[] } = { errors: [], found: [] };
  for (const at of rows.at) {
    if (at < 0) continue;
    if (levels[at] === "error") stops.errors.push(at);
    if (hits?.[at]) stops.found.push(at);
  }
  return stops;
}
