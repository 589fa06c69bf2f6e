import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Deployment } from "@/api/client";
import { runs } from "@/api/queries/deployments";
import { deploymentMetrics, type MetricPoint } from "@/api/queries/usage";
import Chart, { type Mark } from "@/components/Chart";
import { buildCurve } from "@/components/curve";
import { formatBytes, formatNumber } from "@/components/quantity";
import { EmptyState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { ReadFailed } from "./ReadFailed";
import { curveSpans } from "./search";
import { useSearchChange } from "./useSearchChange";

const t = reachTexts.metrics;
const spans: Record<number, string> = t.spans;

const rate = (value: number) => t.perSecond(formatBytes(value));

type Kind = {
  title: string;
  lines: [name: string, token: string, value: (point: MetricPoint) => number][];
  format: (value: number) => string;
};

const kinds: Kind[] = [
  {
    title: t.cpu,
    lines: [[t.cpu, "--color-accent", (point) => point.cpu]],
    format: formatNumber,
  },
  {
    title: t.memory,
    lines: [[t.memory, "--color-accent", (point) => point.memory]],
    format: formatBytes,
  },
  {
    title: t.network,
    lines: [
      [t.in, "--color-accent", (point) => point.net_in],
      [t.out, "--color-st-undoing", (point) => point.net_out],
    ],
    format: rate,
  },
  {
    title: t.disk,
    lines: [
      [t.read, "--color-accent", (point) => point.disk_read],
      [t.written, "--color-st-undoing", (point) => point.disk_written],
    ],
    format: rate,
  },
];

/** The time and the service that the address asks for. */
type Props = { deployment: Deployment; chosen?: number; of?: string };

/** What each service uses, now and before, and what its last check said. */
export default function Metrics({ deployment, chosen, of }: Props) {
  // What was made a moment ago would be a dot at the edge of an hour.
  const [usual] = useState(() => (youngerThan(deployment, 600) ? 600 : 3600));
  const span = chosen ?? usual;
  const change = useSearchChange();
  const query = useQuery(deploymentMetrics(deployment.id, span * 1000));
  const begun = useQuery(runs(deployment.id)).data;
  const marks = useMemo(
    () =>
      (begun?.items ?? []).map(({ number, created_at }) => ({
        at: Date.parse(created_at) / 1000,
        text: t.run(number),
      })),
    [begun],
  );
  const all = query.data?.series ?? [];
  // One that has gone meanwhile hides nothing.
  const only = all.find((series) => series.step === of)?.step;
  const shown = all.filter((series) => !only || series.step === only);
  return (
    <div className="pane flex flex-col gap-4 overflow-auto">
      <div className="row wrap">
        <label className="row gap-1.5 s">
          {t.span}
          <select
            className="in sm"
            value={span}
            onChange={(event) => change({ span: Number(event.target.value) })}
          >
            {curveSpans.map((value) => (
              <option key={value} value={value}>
                {spans[value]}
              </option>
            ))}
          </select>
        </label>
        {all.length > 1 ? <Only all={all} only={only} choose={(log) => change({ log })} /> : null}
      </div>
      <ReadFailed what={t.unread} query={query} />
      {query.isPending ? <Skeletons count={4} height={132} /> : null}
      {query.data?.series.length === 0 ? (
        <EmptyState title={reachTexts.tabs.metrics}>{t.none}</EmptyState>
      ) : null}
      {shown.map((series) => {
        const health = deployment.services.find((service) => service.step === series.step);
        return (
          <section key={series.step} aria-label={series.step}>
            <div className="row wrap pb-2">
              <h2>{series.step}</h2>
              {health ? <StatusMark state={health.health} small /> : null}
              {health?.detail ? (
                <span className="t2 s">
                  {t.health}: {health.detail}
                </span>
              ) : null}
            </div>
            <div className="grid grid-cols-1 gap-4 min-[1000px]:grid-cols-2">
              {kinds.map((kind) => (
                <Curves
                  key={kind.title}
                  kind={kind}
                  service={series.step ?? ""}
                  points={series.points}
                  marks={marks}
                  from={query.data?.from ?? ""}
                  to={query.data?.to ?? ""}
                />
              ))}
            </div>
          </section>
        );
      })}
    </div>
  );
}

type OnlyProps = {
  all: { step?: string }[];
  only?: string;
  choose: (service?: string) => void;
};

/** The curves of one service alone, as its row in the list leads to them. */
function Only({ all, only = "", choose }: OnlyProps) {
  return (
    <label className="row gap-1.5 s">
      {t.service}
      <select
        className="in sm"
        value={only}
        onChange={(event) => choose(event.target.value || undefined)}
      >
        <option value="">{t.all}</option>
        {all.map(({ step }) => (
          <option key={step}>{step}</option>
        ))}
      </select>
    </label>
  );
}

function youngerThan({ created_at }: Deployment, seconds: number): boolean {
  return Date.now() - new Date(created_at).getTime() < seconds * 1000;
}

type CurvesProps = {
  kind: Kind;
  service: string;
  points: MetricPoint[];
  marks: Mark[];
  from: string;
  to: string;
};

function Curves({ kind, service, points, marks, from, to }: CurvesProps) {
  const lines = useMemo(
    () =>
      kind.lines.map(([name, token, value]) => ({ name, token, curve: buildCurve(points, value) })),
    [kind, points],
  );
  const last = points.at(-1);
  const now = last
    ? kind.lines.map(([name, , value]) =>
        kind.lines.length > 1 ? `${name} ${kind.format(value(last))}` : kind.format(value(last)),
      )
    : [];
  return (
    <figure className="m-0">
      <figcaption className="row">
        <span>{kind.title}</span>
        <span className="t2 s end">{now.join(", ")}</span>
      </figcaption>
      <Chart
        lines={lines}
        from={new Date(from).getTime() / 1000}
        to={new Date(to).getTime() / 1000}
        marks={marks}
        format={kind.format}
        label={`${t.curve(kind.title, service)}: ${now.join(", ")}`}
      />
    </figure>
  );
}
