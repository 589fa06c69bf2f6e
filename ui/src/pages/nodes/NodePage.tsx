import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronRight, Globe, Plug, Tag } from "lucide-react";
import { useState } from "react";
import { isNotFound, type NodeInfo } from "@/api/client";
import { node as nodeQuery } from "@/api/queries/catalog";
import { CopyButton } from "@/components/Copy";
import { LiveBadge, Top, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { Pill, StatusMark, stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { formatAgo } from "@/components/time";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { useNodeAct } from "@/pages/nodes/useNodeAct";
import { texts } from "@/texts";
import { NotFound } from "../shell/ErrorPages";
import { Checks } from "./Checks";
import { DrainBox } from "./Drain";
import { EditNode } from "./EditNode";
import { MachineFacts } from "./MachineFacts";
import { NodeActs } from "./NodeActs";
import { NodeEvents } from "./NodeEvents";
import { NodeQueue } from "./NodeQueue";
import { NodeUsage } from "./NodeUsage";
import { Plugins } from "./Plugins";
import { Provisions } from "./Provisions";
import { Recover } from "./Recover";
import { Certificate, TrustDecision } from "./TrustDecision";
import { UnknownDeployments } from "./UnknownDeployments";
import { Upgrade } from "./Upgrade";
import { MEASURED, useNodesLive } from "./useNodesLive";

const t = nodeTexts;
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
          <LiveBadge state={live} />
        </div>
      </Top>
      {query.isError ? (
        <ErrorState
          what={t.unread}
          error={query.error}
          retry={() => void query.refetch()}
          stale={node ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
        />
      ) : null}
      {query.isPending ? <Skeletons count={8} /> : null}
      {/* What is asked or shown of one node is not taken along to the next. */}
      {node ? <Body key={node.name} node={node} /> : <h1 className="vh">{name}</h1>}
    </>
  );
}

function Body({ node }: { node: NodeInfo }) {
  const now = useNow();
  const act = useNodeAct(node.name);
  const [editing, setEditing] = useState(false);
  return (
    <div className="body">
      <div className="dh">
        <div className="row gap-3">
          <h1 className="tr">{node.name}</h1>
          <Pill state={node.status} />
          <span className="t3 nw">{t.since(formatAgo(node.since, now))}</span>
          <NodeActs node={node} edit={() => setEditing(true)} />
        </div>
        <div className="meta">
          <span className="row">
            <Globe className="i sm" aria-hidden="true" />
            {node.environment}
          </span>
          <span className="row">
            <Plug className="i sm" aria-hidden="true" />
            {node.address ? (
              <span className="mono">{node.address}</span>
            ) : (
              machineTexts.form.agentConnects
            )}
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
      {node.pending_thumbprint ? <TrustDecision node={node} /> : null}
      <Recover node={node} />
      <Upgrade node={node} />
      {node.drain ? <DrainBox node={node} end={() => act.mutate({ kind: "undrain" })} /> : null}
      <div className="grid grid-cols-1 gap-x-8 gap-y-5 px-4 py-3 min-[1000px]:grid-cols-2">
        <MachineFacts node={node} />
        <Certificate node={node} />
      </div>
      {node.inventory?.checks?.length ? <Checks checks={node.inventory.checks} /> : null}
      <UnknownDeployments name={node.name} />
      {/* Nobody signs in to a cluster over SSH. */}
      {node.inventory?.cluster ? null : <Provisions node={node} />}
      {node.inventory?.plugins?.length ? <Plugins plugins={node.inventory.plugins} /> : null}
      <NodeQueue name={node.name} />
      <NodeUsage node={node} />
      <NodeEvents name={node.name} />
      {editing ? <EditNode name={node.name} close={() => setEditing(false)} /> : null}
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
