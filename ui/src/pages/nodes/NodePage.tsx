import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronRight, Globe, Plug, Tag } from "lucide-react";
import { isNotFound, type NodeInfo, type Schemas } from "@/api/client";
import { node as nodeQuery } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { thumbprint } from "@/components/names";
import { Live, Top, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { Pill, Rail, StatusMark, stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { ago, bytes } from "@/components/time";
import { texts } from "@/texts";
import { NotFound } from "../shell/Problems";
import { Checks } from "./Checks";
import { DrainBox } from "./Drain";
import { Happened } from "./Happened";
import { MEASURED, useNodesLive } from "./live";
import { NodeActs, useNodeAct } from "./NodeActs";
import { Plugins } from "./Plugins";
import { Provisions } from "./Provisions";
import { Use } from "./Use";
import { Waits } from "./Waits";

const t = texts.nodes;
const route = getRouteApi("/app/nodes/$name");

/** Is this machine fit, and can it be trusted. */
export function NodePage() {
  const { name } = route.useParams();
  const live = useNodesLive();
  const query = useQuery({ ...nodeQuery(name), refetchInterval: MEASURED });
  const node = query.data;
  useTitle(...(node ? [stateWord(node.status), name] : [name]));
  if (isNotFound(query.error)) return <NotFound />;
  return (
    <>
      <Top>
        <div className="crumb">
          <Link to="/nodes">{t.title}</Link>
          <ChevronRight className="i sm" aria-hidden="true" />
          <b className="tr">{name}</b>
          <CopyButton text={name} what={name} />
        </div>
        <div className="end row">
          <Live state={live} />
        </div>
      </Top>
      {query.isError ? (
        <ErrorState
          what={t.unread}
          error={query.error}
          retry={() => void query.refetch()}
          stale={node ? texts.stale(ago(query.dataUpdatedAt, Date.now())) : undefined}
        />
      ) : null}
      {query.isPending ? <Skeletons count={8} /> : null}
      {node ? <Body node={node} /> : null}
    </>
  );
}

function Body({ node }: { node: NodeInfo }) {
  const now = useNow();
  const act = useNodeAct(node.name);
  return (
    <div className="body">
      <div className="dh">
        <div className="row gap-3">
          <h1 className="tr">{node.name}</h1>
          <Pill state={node.status} />
          <span className="t3 nw">{t.since(ago(node.since, now))}</span>
          <NodeActs node={node} />
        </div>
        <div className="meta">
          <span className="row">
            <Globe className="i sm" aria-hidden="true" />
            {node.environment}
          </span>
          <span className="row">
            <Plug className="i sm" aria-hidden="true" />
            <span className="mono">{node.address}</span>
          </span>
          {node.build ? (
            <span className="row">
              <Tag className="i sm" aria-hidden="true" />
              {t.agent} <span className="mono">{node.build}</span>
            </span>
          ) : null}
        </div>
        {node.status_detail ? <Say state={node.status}>{node.status_detail}</Say> : null}
        {node.blocked ? <Say state="failed">{t.blocked(node.blocked)}</Say> : null}
        {node.revocation_pending ? <Say state="warn">{t.revocation}</Say> : null}
      </div>
      {node.pending_thumbprint ? <Decide node={node} /> : null}
      {node.drain ? <DrainBox node={node} end={() => act.mutate({ kind: "undrain" })} /> : null}
      <div className="grid grid-cols-1 gap-x-8 gap-y-5 px-4 py-3 min-[1000px]:grid-cols-2">
        <Machine node={node} />
        <Certificate node={node} />
      </div>
      {node.inventory?.checks?.length ? <Checks checks={node.inventory.checks} /> : null}
      <Provisions node={node} />
      {node.inventory?.plugins?.length ? <Plugins plugins={node.inventory.plugins} /> : null}
      <Waits name={node.name} />
      <Use node={node} />
      <Happened name={node.name} />
    </div>
  );
}

function Say({ state, children }: { state: string; children: string }) {
  const look = state === "online" ? "ready" : state;
  return (
    <div
      className="box"
      data-st={look === "untrusted" ? "stuck" : look === "incompatible" ? "failed" : look}
    >
      <StatusMark state={state}>
        <span className="vh">{stateWord(state)}</span>
      </StatusMark>
      <span>{children}</span>
    </div>
  );
}

/** A person is needed: both thumbprints whole, and whether the proof held. Without it, no approval. */
export function Decide({ node }: { node: NodeInfo }) {
  const act = useNodeAct(node.name);
  const pending = node.pending_thumbprint ?? "";
  const decide = (kind: "approve" | "reject") => act.mutate({ kind, thumbprint: pending });
  return (
    <section className="card mx-4 mt-1" data-st="stuck" aria-label={t.unseenTitle(node.name)}>
      <Rail state="stuck" />
      <h2>{t.unseenTitle(node.name)}</h2>
      <p className="t2 max-w-[72ch]">{t.unseen}</p>
      <dl className="kv">
        {node.thumbprint ? (
          <>
            <dt>{t.approvedNow}</dt>
            <dd className="thumb old">{thumbprint(node.thumbprint)}</dd>
          </>
        ) : null}
        <dt>{t.shownNow}</dt>
        <dd className="thumb new">{thumbprint(pending)}</dd>
      </dl>
      {node.pending_proof_valid ? (
        <>
          <p className="row">
            <StatusMark state="ready">
              <span className="vh">{stateWord("done")}</span>
            </StatusMark>
            {t.proved}
          </p>
          <div className="row">
            <Button
              look="ink"
              busy={act.isPending && t.approveBusy}
              onClick={() => decide("approve")}
            >
              {t.approve}
            </Button>
            <Button onClick={() => decide("reject")}>{t.reject}</Button>
          </div>
        </>
      ) : (
        <p className="row">
          <StatusMark state="failed">
            <span className="vh">{stateWord("failed")}</span>
          </StatusMark>
          {t.notProved}
          <Button onClick={() => decide("reject")}>{t.reject}</Button>
        </p>
      )}
    </section>
  );
}

function Machine({ node }: { node: NodeInfo }) {
  const { inventory, vitals, allocated } = node;
  return (
    <section>
      <h2 className="mb-1">{t.machine}</h2>
      {inventory ? (
        <dl className="kv">
          <dt>{t.system}</dt>
          <dd>
            {inventory.os}, {inventory.kernel}, {inventory.arch}
          </dd>
          <dt>{t.engine}</dt>
          <dd>
            {inventory.engine_version}, {t.api(inventory.api_version)}
            {inventory.runc_version ? (
              <span className="t2">
                {", "}
                {t.engineMore(
                  inventory.runc_version,
                  inventory.storage_driver ?? "",
                  inventory.cgroup_version ?? "",
                )}
              </span>
            ) : null}
          </dd>
          <dt>{t.processor}</dt>
          <dd>{t.cores(inventory.cpu)}</dd>
          <dt>{t.memory}</dt>
          <dd>
            {vitals
              ? t.memoryUse(bytes(vitals.memory_used), bytes(inventory.memory))
              : bytes(inventory.memory)}
          </dd>
          <dt>{t.disk}</dt>
          <dd>
            {vitals
              ? t.diskFree(bytes(vitals.disk_free), bytes(inventory.disk))
              : bytes(inventory.disk)}
            {inventory.disks?.map((disk) => (
              <div className="t2 s" key={disk.path}>
                {t.diskOf(bytes(disk.size), disk.holds, disk.path)}
              </div>
            ))}
          </dd>
          {inventory.gpus?.map((gpu) => (
            <Gpu key={gpu.id} gpu={gpu} />
          ))}
          <dt>{t.allocated}</dt>
          <dd>
            {t.allocatedTo(
              allocated.cpu ?? 0,
              bytes((allocated.memory_mib ?? 0) * 1024 * 1024),
              node.deployments,
            )}
          </dd>
          {inventory.warnings?.map((warning) => (
            <Warning key={warning}>{warning}</Warning>
          ))}
        </dl>
      ) : (
        <p className="t3">{t.notKnown}</p>
      )}
    </section>
  );
}

function Gpu({ gpu }: { gpu: Schemas["NodeGPU"] }) {
  return (
    <>
      <dt>
        {t.gpu} {gpu.id}
      </dt>
      <dd>{t.gpuOf(gpu.model, bytes(gpu.memory))}</dd>
    </>
  );
}

function Warning({ children }: { children: string }) {
  return (
    <>
      <dt>{t.warnings}</dt>
      <dd className="row">
        <StatusMark state="warn">
          <span className="vh">{stateWord("warn")}</span>
        </StatusMark>
        {children}
      </dd>
    </>
  );
}

function Certificate({ node }: { node: NodeInfo }) {
  return (
    <section>
      <h2 className="mb-1">{t.certificate}</h2>
      <p className="t3 s">{t.sha}</p>
      {node.thumbprint ? (
        <p className="thumb">{thumbprint(node.thumbprint)}</p>
      ) : (
        <p className="t3">{t.notKnown}</p>
      )}
      {node.expected_thumbprint && !node.thumbprint ? (
        <>
          <p className="t3 s">{t.expectedPrint}</p>
          <p className="thumb">{thumbprint(node.expected_thumbprint)}</p>
        </>
      ) : null}
      {node.rejected_thumbprint ? (
        <>
          <p className="t3 s">{t.rejectedPrint}</p>
          <p className="thumb old">{thumbprint(node.rejected_thumbprint)}</p>
        </>
      ) : null}
    </section>
  );
}
