import type { LogScan } from "./logScan";

/** How many lines were written in each stretch of time; the stretches are equally long. */
export type LogBins = {
  from: number;
  /** The length of a stretch, in ms. */
  span: number;
  all: number[];
  errors: number[];
  hits: number[];
};

/** With fewer lines, and in less time, there is nothing to find one's way in. */
const FEWEST = 20;
const SHORTEST = 1000;

export function binLines(scan: LogScan, hits: boolean[] | undefined, count: number) {
  const { times, levels } = scan;
  const from = times[0] ?? Number.NaN;
  const long = (times.at(-1) ?? Number.NaN) - from;
  if (times.length < FEWEST || !(long >= SHORTEST)) return undefined;
  const empty = () => new Array<number>(count).fill(0);
  const bins: LogBins = { from, span: long / count, all: empty(), errors: empty(), hits: empty() };
  for (let at = 0; at < times.length; at++) {
    const bin = binAt(bins, times[at] as number);
    add(bins.all, bin);
    if (levels[at] === "error") add(bins.errors, bin);
    if (hits?.[at]) add(bins.hits, bin);
  }
  return bins;
}

function add(counts: number[], bin: number) {
  counts[bin] = (counts[bin] ?? 0) + 1;
}

/** The stretch of a moment. Merged lines may be a little out of order, so some are outside. */
export function binAt({ from, span, all }: LogBins, time: number): number {
  const bin = Math.floor((time - from) / span);
  return Math.min(all.length - 1, Math.max(0, Number.isFinite(bin) ? bin : 0));
}

/**
 * The row to go to for a stretch, from the one that is in sight: where nothing was written in it, on
 * in the same direction, so that a key always leads somewhere. `rows` has the stretch of each row.
 */
export function rowAt(rows: number[], bin: number, from: number): number {
  const next = bin < from ? rows.findLast((one) => one <= bin) : rows.find((one) => one >= bin);
  return next === undefined ? (bin < from ? 0 : rows.length - 1) : rows.indexOf(next);
}

/** A bar's height from 0 to 1. By its root, so that a few errors are seen beside thousands of lines. */
export function barHeight(count: number, most: number): number {
  return count === 0 || most === 0 ? 0 : Math.max(0.12, Math.sqrt(count / most));
}

/** Bars as one path in a box of one unit per stretch and `height`. */
export function barPath(counts: number[], most: number, height: number): string {
  return counts
    .map((count, bin) => {
      const tall = barHeight(count, most) * height;
      return tall > 0 ? `M${bin} ${height}v${(-tall).toFixed(2)}h.8v${tall.toFixed(2)}z` : "";
    })
    .join("");
}
