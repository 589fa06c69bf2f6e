import { useMemo, useRef } from "react";

// What a paused log shows. No shown line is removed meanwhile, or the text would move while the
// user reads; lines that the page has dropped stay in front.

/**
 * `more` counts the lines that arrived but are not shown because the paused log is at its limit.
 */
export type Held<Row> = { lines: Row[]; cut: number; more: number };

/** So many lines a paused log holds at most; twice what the page keeps of the longest one. */
const MOST = 400_000;

/** The lines to show while paused, given the page's current lines `told` (the same objects). */
export function holdLines<Row>(shown: Held<Row>, told: Held<Row>, most = MOST): Held<Row> {
  const last = shown.lines.at(-1);
  const known = last === undefined ? -1 : told.lines.lastIndexOf(last);
  const fresh = told.lines.slice(known + 1);
  if (known < 0 && !isOverrun(shown, told)) return told;
  if (shown.lines.length + fresh.length <= most && known >= 0)
    return { ...shown, lines: fresh.length > 0 ? [...shown.lines, ...fresh] : shown.lines };
  return { ...shown, more: known < 0 ? told.lines.length : fresh.length };
}

/** Whether lines of the same log came faster than they were shown, rather than those of another one. */
function isOverrun<Row>(shown: Held<Row>, told: Held<Row>): boolean {
  return shown.more > 0 && told.cut > shown.cut;
}

/** The lines to show: the current ones, or while paused the old ones and what was appended. */
export function useScrollHold<Row>(lines: Row[], cut: number, paused: boolean): Held<Row> {
  const shown = useRef<Held<Row>>({ lines, cut, more: 0 });
  return useMemo(() => {
    const told = { lines, cut, more: 0 };
    shown.current = paused ? holdLines(shown.current, told) : told;
    return shown.current;
  }, [lines, cut, paused]);
}
