import type { Virtualizer } from "@tanstack/react-virtual";
import { useMemo } from "react";
import { binAt, binLines, type LogBins, rowAt } from "./logHistogram";
import type { LogLayout } from "./useLogLayout";

/** Into how many stretches the time of a log is divided. */
const BINS = 96;

type Histogram = { bins: LogBins; at: number; wide: number; go: (bin: number) => void };

/** When the lines were written and which are in sight. Undefined where time is not the order, or short. */
export function useHistogram(
  { scan, rows, grouped }: LogLayout,
  hits: boolean[] | undefined,
  virtual: Virtualizer<HTMLDivElement, Element>,
  goTo: (row: number) => void,
): Histogram | undefined {
  const bins = useMemo(
    () => (grouped ? undefined : binLines(scan, hits, BINS)),
    [scan, hits, grouped],
  );
  if (!bins || rows.at.length === 0) return undefined;
  const timeOf = (row: number) => scan.times[rows.at[row] ?? 0] ?? bins.from;
  const { startIndex, endIndex } = virtual.range ?? { startIndex: 0, endIndex: 0 };
  const at = binAt(bins, timeOf(startIndex));
  return {
    bins,
    at,
    wide: binAt(bins, timeOf(endIndex)) - at + 1,
    go: (bin) =>
      goTo(
        rowAt(
          rows.at.map((index) => binAt(bins, scan.times[index] ?? bins.from)),
          bin,
          at,
        ),
      ),
  };
}
