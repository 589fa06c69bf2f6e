import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Deployment, Schemas } from "@/api/client";
import { comparison } from "@/api/queries/deployments";
import { BidiSafe } from "@/components/BidiSafe";
import { buttonClass } from "@/components/Button";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { compareTexts as t } from "@/pages/deployment/compareTexts";
import "./compare.css";
import {
  type ComparedRow,
  differenceOf,
  pipelineRows,
  placeRows,
  versionRows,
} from "./compareRows";

type Comparison = Schemas["RunComparison"];

/** What is different from the last run that was good: versions, pipeline, place, and durations. */
export default function Compare({
  deployment,
  number,
}: {
  deployment: Deployment;
  number: number;
}) {
  const query = useQuery(comparison(deployment.id, number, deployment.revision));
  if (query.isPending) return <Skeletons count={8} height={36} />;
  if (query.isError)
    return <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />;
  const { run, good } = query.data;
  return (
    <div className="pane cmp">
      <div className="row wrap">
        <h2>{t.title(number)}</h2>
        <Link
          className={buttonClass("ghost", true, false, "end")}
          to="."
          params={(before: object) => ({ ...before, tab: "run" })}
          search={({ run, step }: { run?: number; step?: string }) => ({ run, step })}
        >
          {t.back}
        </Link>
      </div>
      {good ? (
        <Sides all={query.data} run={run} good={good} />
      ) : (
        <EmptyState title={t.none}>{t.noneHint}</EmptyState>
      )}
    </div>
  );
}

type SidesProps = { all: Comparison; run: Comparison["run"]; good: Comparison["run"] };

function Sides({ all, run, good }: SidesProps) {
  const versions = versionRows(all.versions);
  const pipeline = pipelineRows(all.fields);
  const place = placeRows(all.fields);
  const moved = run.pipeline_version !== good.pipeline_version;
  const added = all.steps.some((step) => !step.good || !step.run);
  const same = versions.length + pipeline.length + place.length === 0 && !added;
  const unchanged = all.versions.length - versions.length;
  return (
    <>
      <div className="cmphead">
        <Side title={t.good} run={good} />
        <Side title={t.bad} run={run} />
      </div>
      {same ? <p className="box">{t.allSame}</p> : null}
      {all.versions.length > 0 ? (
        <Section title={t.versions}>
          {versions.length > 0 ? <Rows rows={versions} first={t.step} /> : null}
          {unchanged > 0 ? <p className="t3">{t.sameVersions(unchanged)}</p> : null}
        </Section>
      ) : null}
      <Section title={t.pipeline}>
        {moved || pipeline.length > 0 ? (
          <Rows
            first={t.field}
            rows={[
              ...(moved
                ? [
                    {
                      key: "version",
                      what: [t.version],
                      good: `v${good.pipeline_version}`,
                      run: `v${run.pipeline_version}`,
                    },
                  ]
                : []),
              ...pipeline,
            ]}
          />
        ) : (
          <p className="t3">{t.samePipeline(run.pipeline_version)}</p>
        )}
        {moved && pipeline.length === 0 && !added ? <p className="t3">{t.sameFields}</p> : null}
      </Section>
      <Section title={t.configuration}>
        {place.length > 0 ? (
          <Rows rows={place} first={t.what} />
        ) : (
          <p className="t3">{t.sameConfiguration}</p>
        )}
      </Section>
      <Section title={t.durations}>
        <Steps steps={all.steps} />
      </Section>
    </>
  );
}

function Side({ title, run }: { title: string; run: Comparison["run"] }) {
  return (
    <div className="cmpside">
      <span className="t3 s">{title}</span>
      <StatusMark state={run.result ?? run.status} />
      <Link
        className="link tr"
        to="/d/$id/{-$tab}"
        params={{ id: run.deployment.id, tab: "run" }}
        search={{ run: run.number }}
      >
        {t.ofRun(run.deployment.name, run.number)}
      </Link>
      <span className="t2 s">
        {run.environment}, <Time at={run.created_at} /> {t.by(run.started_by)}
        {run.seconds === undefined ? null : `, ${formatDuration(run.seconds * 1000)}`}
      </span>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Rows({ rows, first }: { rows: ComparedRow[]; first: string }) {
  return (
    <table className="cmptbl">
      <thead>
        <tr>
          <th>{first}</th>
          <th>{t.good}</th>
          <th>{t.bad}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <th scope="row">
              {row.what[0]} {row.what[1] ? <span className="mono t2">{row.what[1]}</span> : null}
            </th>
            <td data-side={t.good}>
              <Value text={row.good} />
            </td>
            <td data-side={t.bad} className="now">
              <Value text={row.run} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ text }: { text?: string }) {
  if (text === undefined) return <span className="t3">{t.absent}</span>;
  return (
    <span className="mono">
      <BidiSafe text={text} />
    </span>
  );
}

function Steps({ steps }: { steps: Comparison["steps"] }) {
  const longest = Math.max(
    0.001,
    ...steps.flatMap(({ good, run }) => [good?.seconds ?? 0, run?.seconds ?? 0]),
  );
  return (
    <table className="cmptbl steps4">
      <thead>
        <tr>
          <th>{t.step}</th>
          <th>{t.good}</th>
          <th>{t.bad}</th>
          <th>{t.difference}</th>
        </tr>
      </thead>
      <tbody>
        {steps.map((step) => (
          <tr key={step.step} data-failed={step.run?.result === "failed" || undefined}>
            <th scope="row">{step.step}</th>
            <td data-side={t.good}>
              <Span span={step.good} longest={longest} />
            </td>
            <td data-side={t.bad}>
              <Span span={step.run} longest={longest} />
            </td>
            <td className="t2" data-side={t.difference}>
              {sayDifference(differenceOf(step))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Span({ span, longest }: { span?: Schemas["ComparedSpan"]; longest: number }) {
  if (!span) return <span className="t3">{t.absent}</span>;
  const { seconds } = span;
  return (
    <span className="cmpspan">
      <StatusMark state={span.result ?? span.status} small />
      {seconds === undefined ? null : (
        <>
          <span>{formatDuration(seconds * 1000)}</span>
          <svg className="cmpbar" aria-hidden="true" viewBox="0 0 100 6" preserveAspectRatio="none">
            <rect width={Math.max(1, (100 * seconds) / longest)} height="6" rx="1" />
          </svg>
        </>
      )}
    </span>
  );
}

/** What is less than a tenth of a second nobody waited for. */
function sayDifference(ms?: number): string {
  if (ms === undefined) return "";
  if (Math.abs(ms) < 100) return t.alike;
  return ms > 0 ? t.usual(formatDuration(ms)) : t.less(formatDuration(-ms));
}
