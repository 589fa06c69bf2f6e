import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import type { NodeInfo } from "@/api/client";
import { nodes } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { loadChunk } from "@/components/loadChunk";
import { formatBytes, formatNumber } from "@/components/quantity";
import { LiveBadge } from "@/components/Shell";
import { StatusMark, stateWord } from "@/components/Status";
import { Listing } from "@/lists/Listing";
import { useListSearch, useOpenSheet } from "@/lists/useOpenSheet";
import { nodeTexts } from "@/nodeTexts";
import { version } from "../fleet/queries";
import { NotFound } from "../shell/ErrorPages";
import { AddNode } from "./AddNode";
import { cpuLimit } from "./cpuLimit";
import { GivenUp } from "./GivenUp";
import { machineTexts } from "./machineTexts";
import { columns, filters, textOf } from "./nodeColumns";
import { MEASURED, useNodesLive } from "./useNodesLive";

const t = nodeTexts;

const ProvisioningTokens = lazy(() =>
  loadChunk(() => import("./ProvisioningTokens")).then((one) => ({
    default: one.ProvisioningTokens,
  })),
);

/** The machines that run deployments, for admins. */
export function Nodes() {
  const { data: person } = useSuspenseQuery(me);
  return person.role === "admin" ? <List /> : <NotFound />;
}

const nameOf = (node: NodeInfo) => node.name;

/** All of them, the way to add one, and those that were given up. */
function List() {
  const live = useNodesLive();
  const query = useQuery({ ...nodes, refetchInterval: MEASURED });
  const ours = useQuery(version).data?.build;
  const judged = useMemo(() => filters(ours), [ours]);
  const { adding, add, close } = useOpenSheet();
  const [{ given }] = useListSearch();
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={nameOf}
      columns={columns}
      text={textOf}
      filters={judged}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={t.empty}
      add={{ label: t.add, run: add }}
      beside={<LiveBadge state={live} />}
      above={query.data && query.data.length > 0 ? <Fleet nodes={query.data} /> : null}
      below={
        <>
          <Tokens />
          <GivenUp name={given === undefined ? undefined : String(given)} />
        </>
      }
    >
      {adding ? <AddNode close={close} /> : null}
    </Listing>
  );
}

/** The provisioning tokens, which are loaded when somebody opens them. */
function Tokens() {
  const [open, setOpen] = useState(false);
  return (
    <details className="fold px-4 py-3" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{machineTexts.provisioning}</summary>
      <Suspense>{open ? <ProvisioningTokens /> : null}</Suspense>
    </details>
  );
}

/** All nodes together: how many are in which state, and what of their room is promised. */
export function Fleet({ nodes: all }: { nodes: NodeInfo[] }) {
  const states = new Map<string, number>();
  const sum = { cpu: 0, memory: 0, cpus: 0, memories: 0, deployments: 0 };
  for (const node of all) {
    const { status, allocated, inventory, deployments } = node;
    states.set(status, (states.get(status) ?? 0) + 1);
    sum.cpu += allocated.cpu ?? 0;
    sum.memory += (allocated.memory_mib ?? 0) * 1024 * 1024;
    sum.cpus += cpuLimit(node);
    sum.memories += inventory?.memory ?? 0;
    sum.deployments += deployments;
  }
  return (
    <section className="row flex-wrap gap-4 px-4 py-2" aria-label={t.fleet}>
      {[...states].map(([state, count]) => (
        <StatusMark key={state} state={state}>
          {`${count} ${stateWord(state).toLowerCase()}`}
        </StatusMark>
      ))}
      <span className="t2">
        {t.fleetRoom(
          t.of(formatNumber(sum.cpu), formatNumber(sum.cpus)),
          t.of(formatBytes(sum.memory), formatBytes(sum.memories)),
          sum.deployments,
        )}
      </span>
    </section>
  );
}
