import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import type { NodeInfo } from "@/api/client";
import { type MetricPoint, type Metrics, nodeMetrics } from "@/api/queries/usage";
import type { Line } from "@/components/Chart";
import { curve } from "@/components/curve";
import { load } from "@/components/load";
import { ErrorState, Skeletons } from "@/components/States";
import { bytes } from "@/components/time";
import { texts } from "@/texts";

const Chart = lazy(() => load(() => import("@/components/Chart")));

const t = texts.nodes.use;
const HOUR = 3_600_000;
const SPANS = { hour: HOUR, half: 12 * HOUR, week: 7 * 24 * HOUR, quarter: 90 * 24 * HOUR };
type Span = keyof typeof SPANS;

const cores = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 2 });
const rate = (value: number) => t.perSecond(bytes(value));

/** What the machine used over time, whoever used it. */
export function Use({ node }: { node: NodeInfo }) {
  const [span, setSpan] = useState<Span>("hour");
  const query = useQuery(nodeMetrics(node.name, SPANS[span]));
  return (
    <section className="px-4 pb-4" aria-labelledby="use">
      <div className="row gap-3 mb-1">
        <h2 id="use">{t.title}</h2>
        <fieldset className="row gap-1 end">
          <legend className="vh">{t.span}</legend>
          {(Object.keys(SPANS) as Span[]).map((key) => (
            <button
              key={key}
              type="button"
              className="btn ghost sm aria-pressed:bg-active"
              aria-pressed={key === span}
              onClick={() => setSpan(key)}
            >
              {t.spans[key]}
            </button>
          ))}
        </fieldset>
      </div>
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeletons count={2} height={120} /> : null}
      {query.data ? (
        <Suspense fallback={<Skeletons count={2} height={120} />}>
          <Charts node={node} metrics={query.data} />
        </Suspense>
      ) : null}
    </section>
  );
}

type Figure = {
  title: string;
  lines: [name: string, token: string, value: (point: MetricPoint) => number][];
  most?: number;
  format: (value: number) => string;
};

function Charts({ node, metrics }: { node: NodeInfo; metrics: Metrics }) {
  const { cpu, memory, disk } = node.inventory ?? {};
  const figures = useMemo(
    (): Figure[] => [
      {
        title: t.cpu,
        lines: [[t.cpu, "--color-accent", (point) => point.cpu]],
        most: cpu,
        format: cores,
      },
      {
        title: t.memory,
        lines: [[t.memory, "--color-accent", (point) => point.memory]],
        most: memory,
        format: bytes,
      },
      {
        title: t.diskFree,
        lines: [[t.diskFree, "--color-accent", (point) => point.disk_free ?? 0]],
        most: disk,
        format: bytes,
      },
      {
        title: t.network,
        lines: [
          [t.in, "--color-accent", (point) => point.net_in],
          [t.out, "--color-st-undoing", (point) => point.net_out],
        ],
        format: rate,
      },
    ],
    [cpu, memory, disk],
  );
  return (
    <div className="grid grid-cols-1 gap-4 min-[1000px]:grid-cols-2">
      {figures.map((figure) => (
        <Curves key={figure.title} figure={figure} metrics={metrics} />
      ))}
    </div>
  );
}

function Curves({ figure, metrics }: { figure: Figure; metrics: Metrics }) {
  const points = metrics.series[0]?.points;
  const lines = useMemo(
    (): Line[] =>
      figure.lines.map(([name, token, value]) => ({
        name,
        token,
        curve: curve(points ?? [], value),
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
    : [texts.nodes.notKnown];
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
