import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Deployment, Run, Schemas } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { pipelineVersion } from "@/api/queries/catalog";
import { BidiSafe } from "@/components/BidiSafe";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { activeHold } from "./activeHold";
import { DetailPair, Exact } from "./DetailPair";
import { GeneratedSecrets } from "./GeneratedSecrets";
import { InputList } from "./InputList";
import { WhoMayOpen } from "./WhoMayOpen";

const t = deployTexts.details;
const c = deployTexts.capsule;

type Props = { deployment: Deployment; run?: Run };

/** The exact IDs, images and times, for bug reports and scripts. */
export default function Details({ deployment, run }: Props) {
  return (
    <div className="pane flex flex-col gap-5 overflow-auto">
      <section aria-label={t.facts} className="flex flex-col gap-2">
        <h2>{t.facts}</h2>
        <dl className="kv">
          <Place deployment={deployment} />
          <Made deployment={deployment} />
          <End deployment={deployment} />
          <Latest deployment={deployment} run={run} />
        </dl>
      </section>
      <Versions versions={deployment.versions} />
      <InputList input={deployment.input} />
      {hasEnded(deployment.status) ? null : <GeneratedSecrets deployment={deployment} />}
      {hasEnded(deployment.status) ? null : <WhoMayOpen deployment={deployment} />}
      <More id={deployment.id} />
    </div>
  );
}

function Place({ deployment }: { deployment: Deployment }) {
  const { id, name, project, environment, status, node } = deployment;
  return (
    <>
      <DetailPair name={t.id}>
        <Exact text={id} />
      </DetailPair>
      <DetailPair name={t.link}>
        <Exact text={`${window.location.origin}/d/${id}`} />
      </DetailPair>
      <DetailPair name={t.name}>
        <Exact text={name} />
      </DetailPair>
      <DetailPair name={c.state}>
        <StatusMark state={status} />
      </DetailPair>
      <DetailPair name={c.project}>{project}</DetailPair>
      <DetailPair name={c.environment}>{environment}</DetailPair>
      {node ? <DetailPair name={c.node}>{node}</DetailPair> : null}
      <DetailPair name={c.pipeline}>
        <Pipeline deployment={deployment} />
      </DetailPair>
    </>
  );
}

/** Its digest tells whether two drawings are the same; who may not read the project does without. */
function Pipeline({ deployment }: { deployment: Deployment }) {
  const { project, pipeline_version: version, scratch } = deployment;
  const { data } = useQuery({ ...pipelineVersion(project, version), enabled: !scratch });
  if (scratch) return t.draft;
  return (
    <span className="row wrap gap-1">
      v{version}
      {data ? <Exact text={data.digest} /> : null}
    </span>
  );
}

function Made({ deployment }: { deployment: Deployment }) {
  const { created_at, created_by, ready_at, cloned_from: from, moved_to: to } = deployment;
  return (
    <>
      <DetailPair name={c.made}>
        <Moment at={created_at} /> {c.by} {created_by}
      </DetailPair>
      {from ? (
        <DetailPair name={t.from}>
          <To id={from.id}>{from.name}</To>
        </DetailPair>
      ) : null}
      {to ? (
        <DetailPair name={t.movedTo}>
          <To id={to}>{to}</To>
        </DetailPair>
      ) : null}
      {ready_at ? (
        <DetailPair name={t.ready}>
          <Moment at={ready_at} />
        </DetailPair>
      ) : null}
    </>
  );
}

function End({ deployment }: { deployment: Deployment }) {
  const { status, expires_at, removed_at, removed_by, tombstone_until, queue } = deployment;
  const hold = activeHold(deployment);
  const ends = expires_at ? <Moment at={expires_at} /> : t.never;
  return (
    <>
      {queue?.deadline && !queue.ended_at ? (
        <DetailPair name={t.deadline}>
          <Moment at={queue.deadline} />
        </DetailPair>
      ) : null}
      {hasEnded(status) ? null : <DetailPair name={t.ends}>{ends}</DetailPair>}
      {hold ? (
        <DetailPair name={t.hold}>
          {deployTexts.life.held(hold.owner, hold.until ? formatExact(hold.until) : "")}:{" "}
          <BidiSafe text={hold.reason} />
        </DetailPair>
      ) : null}
      {removed_at ? (
        <DetailPair name={c.removed}>
          <Moment at={removed_at} /> {removed_by ? `${c.by} ${removed_by}` : ""}
        </DetailPair>
      ) : null}
      {tombstone_until ? (
        <DetailPair name={t.kept}>{formatExact(tombstone_until)}</DetailPair>
      ) : null}
    </>
  );
}

function Latest({ deployment, run }: Props) {
  const request = deployment.request_id;
  return (
    <>
      <DetailPair name={t.run}>
        {run ? t.runBy(run.number, run.started_by) : deployment.run}{" "}
        {run ? <Moment at={run.created_at} /> : null}
      </DetailPair>
      {request ? (
        <DetailPair name={t.request}>
          <Exact text={request} />
        </DetailPair>
      ) : null}
      {run?.trace_id ? (
        <DetailPair name={t.trace}>
          <Exact text={run.trace_id} />
        </DetailPair>
      ) : null}
    </>
  );
}

/** This page shows exact times; the relative time follows. */
function Moment({ at }: { at: string }) {
  return (
    <>
      {formatExact(at)} <Time at={at} className="t3" />
    </>
  );
}

function To({ id, children }: { id: string; children: ReactNode }) {
  return (
    <Link className="link" to="/d/$id/{-$tab}" params={{ id, tab: undefined }} search={{}}>
      {children}
    </Link>
  );
}

/** What runs, by digest: a tag may be another image by now. */
function Versions({ versions }: { versions: Schemas["ServiceVersion"][] }) {
  return (
    <section aria-label={c.services} className="flex flex-col gap-2">
      <h2>{c.services}</h2>
      {versions.length === 0 ? <p className="t3">{t.noServices}</p> : null}
      <dl className="kv">
        {versions.map(({ step, image, tag, digest }) => (
          <DetailPair key={step} name={step}>
            <Exact text={`${image}:${tag}@${digest}`} what={`${image}:${tag}`} />
          </DetailPair>
        ))}
      </dl>
    </section>
  );
}

function More({ id }: { id: string }) {
  return (
    <nav aria-label={t.more} className="row wrap gap-4">
      <Link
        className="link"
        to="."
        params={(before: object) => ({ ...before, tab: "capsule" })}
        search={{}}
      >
        {t.openCapsule}
      </Link>
      <Link className="link" to="/deployments/diff" search={{ a: id }}>
        {pageTexts.compareWith}
      </Link>
    </nav>
  );
}
