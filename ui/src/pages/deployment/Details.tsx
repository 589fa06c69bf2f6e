import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Deployment, Run, Schemas } from "@/api/client";
import { isGone } from "@/api/deploymentState";
import { pipelineVersion } from "@/api/queries/catalog";
import { Safe } from "@/components/BidiSafe";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { exact } from "@/components/time";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { holdOf } from "./activeHold";
import { Exact, Pair } from "./DetailPair";
import { GeneratedSecrets } from "./GeneratedSecrets";
import { WhoMayOpen } from "./WhoMayOpen";

const t = deployTexts.details;
const c = deployTexts.capsule;

type Props = { deployment: Deployment; run?: Run };

/** What it is exactly: for whoever writes it down, or asks a program about it. */
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
      {isGone(deployment.status) ? null : <GeneratedSecrets deployment={deployment} />}
      {isGone(deployment.status) ? null : <WhoMayOpen deployment={deployment} />}
      <More id={deployment.id} />
    </div>
  );
}

function Place({ deployment }: { deployment: Deployment }) {
  const { id, name, project, environment, status, node } = deployment;
  return (
    <>
      <Pair name={t.id}>
        <Exact text={id} />
      </Pair>
      <Pair name={t.link}>
        <Exact text={`${window.location.origin}/d/${id}`} />
      </Pair>
      <Pair name={t.name}>
        <Exact text={name} />
      </Pair>
      <Pair name={c.state}>
        <StatusMark state={status} />
      </Pair>
      <Pair name={c.project}>{project}</Pair>
      <Pair name={c.environment}>{environment}</Pair>
      {node ? <Pair name={c.node}>{node}</Pair> : null}
      <Pair name={c.pipeline}>
        <Pipeline deployment={deployment} />
      </Pair>
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
      <Pair name={c.made}>
        <Moment at={created_at} /> {c.by} {created_by}
      </Pair>
      {from ? (
        <Pair name={t.from}>
          <To id={from.id}>{from.name}</To>
        </Pair>
      ) : null}
      {to ? (
        <Pair name={t.movedTo}>
          <To id={to}>{to}</To>
        </Pair>
      ) : null}
      {ready_at ? (
        <Pair name={t.ready}>
          <Moment at={ready_at} />
        </Pair>
      ) : null}
    </>
  );
}

function End({ deployment }: { deployment: Deployment }) {
  const { status, expires_at, removed_at, removed_by, tombstone_until, queue } = deployment;
  const hold = holdOf(deployment);
  const ends = expires_at ? <Moment at={expires_at} /> : t.never;
  return (
    <>
      {queue?.deadline && !queue.ended_at ? (
        <Pair name={t.deadline}>
          <Moment at={queue.deadline} />
        </Pair>
      ) : null}
      {isGone(status) ? null : <Pair name={t.ends}>{ends}</Pair>}
      {hold ? (
        <Pair name={t.hold}>
          {deployTexts.life.held(hold.owner, hold.until ? exact(hold.until) : "")}:{" "}
          <Safe text={hold.reason} />
        </Pair>
      ) : null}
      {removed_at ? (
        <Pair name={c.removed}>
          <Moment at={removed_at} /> {removed_by ? `${c.by} ${removed_by}` : ""}
        </Pair>
      ) : null}
      {tombstone_until ? <Pair name={t.kept}>{exact(tombstone_until)}</Pair> : null}
    </>
  );
}

function Latest({ deployment, run }: Props) {
  const request = deployment.request_id;
  return (
    <>
      <Pair name={t.run}>
        {run ? t.runBy(run.number, run.started_by) : deployment.run}{" "}
        {run ? <Moment at={run.created_at} /> : null}
      </Pair>
      {request ? (
        <Pair name={t.request}>
          <Exact text={request} />
        </Pair>
      ) : null}
    </>
  );
}

/** The exact time is what this page is for; how long ago stands behind it. */
function Moment({ at }: { at: string }) {
  return (
    <>
      {exact(at)} <Time at={at} className="t3" />
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
          <Pair key={step} name={step}>
            <Exact text={`${image}:${tag}@${digest}`} what={`${image}:${tag}`} />
          </Pair>
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
        {texts.page.compareWith}
      </Link>
    </nav>
  );
}
