import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Deployment, Run, Schemas } from "@/api/client";
import { pipelineVersion } from "@/api/queries/catalog";
import { runs } from "@/api/queries/deployments";
import { deploymentMetrics } from "@/api/queries/usage";
import type { Mark } from "@/components/Chart";
import { Curves, type Figure } from "@/components/Curves";
import { cpuFigure, diskFigure, memoryFigure, networkFigure } from "@/components/figures";
import { EmptyState, Skeletons } from "@/components/States";
import { StatusMark, stateWord } from "@/components/Status";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { ReadFailed } from "./ReadFailed";
import { curveSpans } from "./search";
import { useSearchChange } from "./useSearchChange";

const t = reachTexts.metrics;
const spans: Record<number, string> = t.spans;

/** The figures of a service, with the limits that the deployment's pipeline sets it. */
function figuresOf({ cpu, memory_mib }: Schemas["Resources"] = {}): Figure[] {
  return [
    cpuFigure({ value: cpu, say: t.limit }),
    memoryFigure({ value: (memory_mib ?? 0) * 1024 * 1024, say: t.limit }),
    networkFigure,
    diskFigure,
  ];
}

/** The time and the service that the address asks for. */
type Props = { deployment: Deployment; chosen?: number; of?: string };

/** What each service uses, now and before, and what its last check said. */
export default function Metrics({ deployment, chosen, of }: Props) {
  // What was made a moment ago would be a dot at the edge of an hour.
  const [usual] = useState(() => (youngerThan(deployment, 600) ? 600 : 3600));
  const span = chosen ?? usual;
  const change = useSearchChange();
  const query = useQuery(deploymentMetrics(deployment.id, span * 1000));
  const known = useQuery(runs(deployment.id)).data?.items;
  const marks = useMemo(() => (known ?? []).flatMap(marksOf), [known]);
  const { project } = deployment;
  const version = known?.[0]?.pipeline_version ?? 0;
  // Without it, curves have no limits: it is no reason to show none.
  const { data: drawn } = useQuery({ ...pipelineVersion(project, version), enabled: version > 0 });
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
            <ServiceCurves
              service={series.step ?? ""}
              limits={limitsOf(drawn?.pipeline.steps, series.step)}
              points={series.points}
              marks={marks}
              from={query.data?.from ?? ""}
              to={query.data?.to ?? ""}
            />
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

/** When a run began and how it ended. */
function marksOf({ number, created_at, ended_at, result }: Run): Mark[] {
  const begun = { at: Date.parse(created_at) / 1000, text: t.run(number) };
  if (!ended_at || !result) return [begun];
  const text = t.ended(number, stateWord(result).toLowerCase());
  return [begun, { at: Date.parse(ended_at) / 1000, text }];
}

function limitsOf(steps: Schemas["PipelineStep"][] | undefined, key?: string) {
  return steps?.find((step) => step.key === key)?.service?.resources;
}

type CurvesProps = {
  service: string;
  limits?: Schemas["Resources"];
  points: Schemas["MetricPoint"][];
  marks: Mark[];
  from: string;
  to: string;
};

function ServiceCurves({ service, limits, ...drawn }: CurvesProps) {
  const figures = useMemo(() => figuresOf(limits), [limits]);
  return (
    <div className="grid grid-cols-1 gap-4 min-[1000px]:grid-cols-2">
      {figures.map((figure) => (
        <Curves
          key={figure.title}
          {...drawn}
          figure={figure}
          label={t.curve(figure.title, service)}
          unknown={t.none}
        />
      ))}
    </div>
  );
}
