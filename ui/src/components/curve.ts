/** A curve in seconds since 1970 and values; null where nothing is known. */
export type Curve = { times: number[]; values: (number | null)[] };

/** More than this many times the usual distance between two points is a gap. */
const WIDE = 3;

/** Nodes at rest send one point for half a minute, so that less than this many seconds is none. */
const LEAST = 45;

/** The usual distance between two points, in seconds. */
export function usualStep(times: number[]): number {
  const steps = times.slice(1).map((time, i) => time - (times[i] ?? time));
  if (steps.length === 0) return 60;
  steps.sort((a, b) => a - b);
  return Math.max(1, steps[Math.floor(steps.length / 2)] ?? 1);
}

function longestStep(times: number[]): number {
  return Math.max(LEAST, WIDE * usualStep(times));
}

/** The stretches between `from` and `to` of which nothing is known. */
export function findGaps(times: number[], from: number, to: number): [number, number][] {
  const wide = longestStep(times);
  const edges = [from, ...times.filter((time) => time > from && time < to), to];
  const found: [number, number][] = [];
  for (let i = 1; i < edges.length; i++) {
    const [start, end] = [edges[i - 1] ?? from, edges[i] ?? to];
    if (end - start > wide) found.push([start, end]);
  }
  return found;
}

/** The points as a curve that is broken where something is missing. */
export function buildCurve<P extends { at: string }>(
  points: P[],
  value: (point: P) => number,
): Curve {
  const known = points.map((point) => new Date(point.at).getTime() / 1000);
  const wide = longestStep(known);
  const result: Curve = { times: [], values: [] };
  points.forEach((point, i) => {
    const time = known[i] ?? 0;
    const before = known[i - 1];
    if (before !== undefined && time - before > wide) {
      result.times.push(before + (time - before) / 2);
      result.values.push(null);
    }
    result.times.push(time);
    result.values.push(value(point));
  });
  return result;
}

/** The line of a small picture, as an SVG path in a box of that size; broken at nulls. */
export function svgPath(
  values: (number | null)[],
  most: number,
  width: number,
  height: number,
): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let drawing = false;
  return values
    .map((value, i) => {
      if (value === null) {
        drawing = false;
        return "";
      }
      const y = height - (most > 0 ? Math.min(1, value / most) : 0) * height;
      const word = `${drawing ? "L" : "M"}${(i * step).toFixed(1)} ${y.toFixed(1)}`;
      drawing = true;
      return word;
    })
    .join("");
}
