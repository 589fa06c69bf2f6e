import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { ask, client, type Deployment, isNotFound, type Schemas } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { BidiSafe } from "@/components/BidiSafe";
import { CopyButton } from "@/components/Copy";
import { Skeletons } from "@/components/States";
import { StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { NotFound } from "../shell/ErrorPages";
import { CapsuleMails } from "./CapsuleMails";
import { CapsuleSteps, LastLines } from "./CapsuleParts";
import { DetailPair } from "./DetailPair";
import { InputList } from "./InputList";
import { sayFailure } from "./outcome";
import { ReadFailed } from "./ReadFailed";
import { Recreate } from "./Recreate";
import type { PageSearch } from "./search";

const t = deployTexts.capsule;
type Data = Schemas["Capsule"];

/** What ran, how it was and what it said: for a bug report, alive or removed. */
export function Capsule({ deployment }: { deployment: Deployment }) {
  const { id } = deployment;
  const { address } = useSearch({ strict: false }) as PageSearch;
  const query = useQuery({
    queryKey: ["deployment", id, "capsule"],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/capsule", { params: { path: { id } } })),
  });
  if (isNotFound(query.error)) return <NotFound />;
  const unread = <ReadFailed what={t.unread} query={query} />;
  if (!query.data) return query.isError ? unread : <Skeletons count={8} height={44} />;
  const capsule = query.data;
  return (
    <div className="pane flex flex-col gap-4">
      {unread}
      <div className="row wrap">
        <h2>{t.title(capsule.deployment.name)}</h2>
        <span className="t3">
          {t.taken} <Time at={capsule.taken_at} />
        </span>
        <CopyButton text={linkTo(id, address)} what={t.copy} />
      </div>
      {address ? (
        <p>
          {t.seenAt} <BidiSafe text={address} />
        </p>
      ) : null}
      <p className="t3 s">{hasEnded(deployment.status) ? t.kept : t.asItIs}</p>
      {capsule.failure ? (
        <div className="box" data-st="failed">
          <StatusMark state="failed">
            <span className="vh">{texts.states.failed}</span>
          </StatusMark>
          <b>
            <BidiSafe text={sayFailure(capsule.failure)} />
          </b>
        </div>
      ) : null}
      <Facts capsule={capsule} />
      <Recreate deployment={deployment} />
      <Services capsule={capsule} />
      <CapsuleSteps steps={capsule.steps} services={capsule.services.map(({ step }) => step)} />
      <CapsuleMails mails={capsule.mails} />
      <InputList input={capsule.input} />
      <Parameters capsule={capsule} />
    </div>
  );
}

/** The capsule's own address, for a ticket, with the page that it is about. */
function linkTo(id: string, address?: string): string {
  const about = address ? `?${new URLSearchParams({ address })}` : "";
  return `${window.location.origin}/d/${id}/capsule${about}`;
}

function Facts({ capsule }: { capsule: Data }) {
  const d = capsule.deployment;
  return (
    <dl className="kv">
      <DetailPair name={t.project}>{d.project}</DetailPair>
      <DetailPair name={t.environment}>{d.environment}</DetailPair>
      <DetailPair name={t.state}>
        <StatusMark state={d.condition ?? d.status}>
          {stateWord(d.condition ?? d.status)}
        </StatusMark>
        {d.condition_reason ? <BidiSafe text={d.condition_reason} /> : null}
      </DetailPair>
      {d.node ? <DetailPair name={t.node}>{d.node}</DetailPair> : null}
      <DetailPair name={t.pipeline}>
        v{capsule.pipeline_version} <span className="mono t3">{capsule.pipeline_digest}</span>
      </DetailPair>
      <DetailPair name={t.run}>{capsule.run}</DetailPair>
      <DetailPair name={t.made}>
        <Time at={d.created_at} /> {t.by} {d.created_by}
      </DetailPair>
      {d.removed_at ? (
        <DetailPair name={t.removed}>
          <Time at={d.removed_at} /> {d.removed_by ? `${t.by} ${d.removed_by}` : ""}
        </DetailPair>
      ) : null}
    </dl>
  );
}

function Services({ capsule }: { capsule: Data }) {
  return (
    <section aria-label={t.services} className="flex flex-col gap-3">
      <h2>{t.services}</h2>
      {capsule.services.map((service) => (
        <section key={service.step} className="card" aria-label={service.step}>
          <div className="row wrap">
            <b>{service.step}</b>
            <StatusMark state={service.health}>{stateWord(service.health)}</StatusMark>
            {service.restarts > 0 ? (
              <span className="t3">{pageTexts.restarts(service.restarts)}</span>
            ) : null}
          </div>
          <div className="mono break-all">
            {service.image}:{service.tag}
            <span className="t3">@{service.digest}</span>
          </div>
          {service.detail ? (
            <p className="t2">
              <BidiSafe text={service.detail} />
            </p>
          ) : null}
          <LastLines of={service.step} lines={service.log} none={t.noLog} />
        </section>
      ))}
    </section>
  );
}

function Parameters({ capsule }: { capsule: Data }) {
  const all = Object.entries(capsule.parameters);
  if (all.length === 0) return null;
  return (
    <section aria-label={t.parameters} className="flex flex-col gap-1">
      <h2>{t.parameters}</h2>
      <p className="t3 s">{t.noSecrets}</p>
      <dl className="kv">
        {all.flatMap(([step, values]) =>
          Object.entries(values).map(([name, value]) => (
            <DetailPair key={`${step}.${name}`} name={`${step} › ${name}`}>
              <span className="mono">
                <BidiSafe text={typeof value === "string" ? value : JSON.stringify(value)} />
              </span>
            </DetailPair>
          )),
        )}
      </dl>
    </section>
  );
}
