import { lazy, Suspense, useMemo, useState } from "react";
import type { MetricPoint } from "@/api/queries/usage";
import type { Limit, Line, Mark } from "./Chart";
import { buildCurve } from "./curve";
import { loadChunk } from "./loadChunk";
import { Skeletons } from "./States";
import { formatClock } from "./time";

const Chart = lazy(() => loadChunk(() => import("./Chart")));

/** One picture: its lines by name, colour token and value, and what is not to be crossed. */
export type Figure = {
  title: string;
  lines: [name: string, token: string, value: (point: MetricPoint) => number][];
  limit?: Limit;
  format: (value: number) => string;
};

type Props = {
  figure: Figure;
  points: MetricPoint[];
  marks?: Mark[];
  from: string;
  to: string;
  /** What is drawn, for who cannot see it. */
  label: string;
  unknown: string;
};

const seconds = (at: string) => Date.parse(at) / 1000;

/**
 * The lines of one figure. Above them is what they are now or, while the crosshair is in any chart of
 * the page, what they were then, and what happened about then.
 */
export function Curves({ figure, points, marks, from, to, label, unknown }: Props) {
  const [index, setIndex] = useState<number>();
  const lines = useMemo(
    (): Line[] =>
      figure.lines.map(([name, token, value]) => ({
        name,
        token,
        curve: buildCurve(points, value),
      })),
    [figure, points],
  );
  const say = (at: number | undefined) => sayValues(figure, lines, at);
  const last = (lines[0]?.curve.times.length ?? 0) - 1;
  const now = say(last) ?? unknown;
  const then = index === undefined ? undefined : lines[0]?.curve.times[index];
  return (
    <figure className="m-0">
      <figcaption className="row">
        <span>{figure.title}</span>
        <span className="t2 s end tr">
          {then === undefined ? now : sayMoment(then, say(index) ?? unknown, marks, from, to)}
        </span>
      </figcaption>
      <Suspense fallback={<Skeletons count={1} height={132} />}>
        <Chart
          lines={lines}
          from={seconds(from)}
          to={seconds(to)}
          limit={figure.limit}
          marks={marks}
          format={figure.format}
          label={[`${label}: ${now}`, figure.limit?.text, ...sayMarks(marks, from, to)]
            .filter(Boolean)
            .join(", ")}
          onPoint={setIndex}
        />
      </Suspense>
    </figure>
  );
}

function sayValues({ format }: Figure, lines: Line[], at = -1): string | undefined {
  const values = lines.map(({ name, curve }) => ({ name, value: curve.values[at] ?? undefined }));
  if (!values.some(({ value }) => value !== undefined)) return undefined;
  const say = (value = 0) => format(value);
  if (values.length === 1) return say(values[0]?.value);
  return values.map(({ name, value }) => `${name} ${say(value)}`).join(", ");
}

function sayMarks(marks: Mark[] = [], from: string, to: string): string[] {
  return marks
    .filter(({ at }) => at >= seconds(from) && at <= seconds(to))
    .map(({ at, text }) => `${text} ${formatClock(at * 1000)}`);
}

/** The time, the values, and the nearest event, if it is no farther than the width of a finger. */
function sayMoment(then: number, values: string, marks: Mark[] = [], from: string, to: string) {
  const near = (seconds(to) - seconds(from)) / 60;
  const [event] = marks
    .filter(({ at }) => Math.abs(at - then) <= near)
    .sort((a, b) => Math.abs(a.at - then) - Math.abs(b.at - then));
  return [formatClock(then * 1000), values, event?.text].filter(Boolean).join(" · ");
}
