import type { MetricPoint } from "@/api/queries/usage";
import { figureTexts as t } from "@/components/figureTexts";
import type { Limit } from "./Chart";
import type { Figure } from "./Curves";
import { formatBytes, formatNumber } from "./quantity";

// What is measured over time, each in one place: its name, its lines and how its values are said.

/** A limit in the figure's own unit, and what is said of it once the amount is in words. */
export type FigureLimit = { value?: number; say: (amount: string) => string };

const FIRST = "--color-accent";
const SECOND = "--color-st-undoing";
const rate = (value: number) => t.perSecond(formatBytes(value));

export const cpuFigure = (limit?: FigureLimit): Figure =>
  single(t.cpu, (point) => point.cpu, formatNumber, limit);

export const memoryFigure = (limit?: FigureLimit): Figure =>
  single(t.memory, (point) => point.memory, formatBytes, limit);

export const diskFreeFigure = (limit?: FigureLimit): Figure =>
  single(t.diskFree, (point) => point.disk_free ?? 0, formatBytes, limit);

export const networkFigure: Figure = {
  title: t.network,
  lines: [
    [t.in, FIRST, (point) => point.net_in],
    [t.out, SECOND, (point) => point.net_out],
  ],
  format: rate,
};

export const diskFigure: Figure = {
  title: t.disk,
  lines: [
    [t.read, FIRST, (point) => point.disk_read],
    [t.written, SECOND, (point) => point.disk_written],
  ],
  format: rate,
};

function single(
  title: string,
  value: (point: MetricPoint) => number,
  format: Figure["format"],
  limit?: FigureLimit,
): Figure {
  return { title, lines: [[title, FIRST, value]], limit: limitOf(limit, format), format };
}

/** Nothing is limited to zero: what is not known, or not set, is no limit. */
function limitOf(limit: FigureLimit | undefined, format: Figure["format"]): Limit | undefined {
  if (!limit?.value) return undefined;
  return { value: limit.value, text: limit.say(format(limit.value)) };
}
