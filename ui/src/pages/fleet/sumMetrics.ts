import type { MetricPoint, Metrics } from "@/api/queries/usage";

const SECOND = 1000;
const buckets: Record<Metrics["resolution"], number> = {
  raw: 60 * SECOND,
  minute: 60 * SECOND,
  hour: 3600 * SECOND,
};

const figures = ["cpu", "memory", "disk_free", "net_in", "net_out"] as const;
type Figure = (typeof figures)[number];

/**
 * What several nodes used together. Nodes measure at moments of their own, so that each one's mean per
 * minute (or hour) is added up; a node that was not heard then adds nothing. The last stretch is left
 * out until all of it has passed: half of the nodes in it would look like a fall.
 */
export function sumMetrics(all: Metrics[], now: number): Metrics | undefined {
  const first = all[0];
  if (!first) return undefined;
  const wide = Math.max(...all.map((one) => buckets[one.resolution]));
  const sums = new Map<number, Record<Figure, number>>();
  for (const { series } of all)
    for (const [at, mean] of meansByInterval(series[0]?.points ?? [], wide)) {
      const sum = sums.get(at) ?? { cpu: 0, memory: 0, disk_free: 0, net_in: 0, net_out: 0 };
      for (const figure of figures) sum[figure] += mean[figure];
      sums.set(at, sum);
    }
  const points = [...sums]
    .filter(([at]) => at + wide <= now)
    .sort(([a], [b]) => a - b)
    .map(([at, sum]) => toPoint(at, sum));
  return { ...first, series: [{ points }] };
}

function meansByInterval(points: MetricPoint[], wide: number): Map<number, Record<Figure, number>> {
  const found = new Map<number, MetricPoint[]>();
  for (const one of points) {
    const at = Math.floor(Date.parse(one.at) / wide) * wide;
    found.set(at, [...(found.get(at) ?? []), one]);
  }
  const mean = (of: MetricPoint[], figure: Figure) =>
    of.reduce((sum, one) => sum + (one[figure] ?? 0), 0) / of.length;
  return new Map(
    [...found].map(([at, of]) => [
      at,
      Object.fromEntries(figures.map((figure) => [figure, mean(of, figure)])) as Record<
        Figure,
        number
      >,
    ]),
  );
}

const toPoint = (at: number, sum: Record<Figure, number>): MetricPoint => ({
  ...sum,
  at: new Date(at).toISOString(),
  cpu_max: sum.cpu,
  memory_max: sum.memory,
  disk_read: 0,
  disk_written: 0,
});
