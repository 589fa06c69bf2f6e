import { lazy, useMemo } from "react";
import type { MetricPoint, Metrics } from "@/api/queries/usage";
import type { Line } from "@/components/Chart";
import { buildCurve } from "@/components/curve";
import { loadChunk } from "@/components/loadChunk";
import { formatBytes } from "@/components/quantity";
import { nodeTexts } from "@/nodeTexts";

const Chart = lazy(() => loadChunk(() => import("@/components/Chart")));

const t = nodeTexts.use;
const HOUR = 3_600_000;

/** How far back curves go, in ms. */
export const SPANS = { hour: HOUR, half: 12 * HOUR, week: 7 * 24 * HOUR, quarter: 90 * 24 * HOUR };
export type Span = keyof typeof SPANS;

export const rate = (value: number) => t.perSecond(formatBytes(value));

/** One picture: its lines by name, colour token and value, and the top of its scale. */
export type Figure = {
  title: string;
  lines: [name: string, token: string, value: (point: MetricPoint) => number][];
  most?: number;
  format: (value: number) => string;
};

/** Chooses how far back the curves go. */
export function Spans({ span, set }: { span: Span; set: (span: Span) => void }) {
  return (
    <fieldset className="row gap-1 end">
      <legend className="vh">{t.span}</legend>
      {(Object.keys(SPANS) as Span[]).map((key) => (
        <button
          key={key}
          type="button"
          className="btn ghost sm aria-pressed:bg-active"
          aria-pressed={key === span}
          onClick={() => set(key)}
        >
          {t.spans[key]}
        </button>
      ))}
    </fieldset>
  );
}

/** The lines of one figure, with what they are now. Suspends until the charts are loaded. */
export function Curves({ figure, metrics }: { figure: Figure; metrics: Metrics }) {
  const points = metrics.series[0]?.points;
  const lines = useMemo(
    (): Line[] =>
      figure.lines.map(([name, token, value]) => ({
        name,
        token,
        curve: buildCurve(points ?? [], value),
      })),
    [figure, points],
  );
  const last = points?.at(-1);
  const now = last
    ? figure.lines.map(([name, , value]) =>
        figure.lines.length > 1
          ? `${name} ${figure.format(value(last))}`
          : figure.format(value(last)),
      )
    : [nodeTexts.notKnown];
  return (
    <figure className="m-0">
      <figcaption className="row">
        <span>{figure.title}</span>
        <span className="t2 s end">{now.join(", ")}</span>
      </figcaption>
      <Chart
        lines={lines}
        from={new Date(metrics.from).getTime() / 1000}
        to={new Date(metrics.to).getTime() / 1000}
        most={figure.most}
        format={figure.format}
        label={`${figure.title}: ${now.join(", ")}`}
      />
    </figure>
  );
}
