import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { NodeInfo } from "@/api/client";
import { nodes } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Glyph } from "@/components/Glyph";
import { Live, Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { ago, bytes } from "@/components/time";
import { texts } from "@/texts";
import { useOpened } from "../admin/useOpened";
import { NotFound } from "../shell/Problems";
import { AddNode } from "./AddNode";
import { MEASURED, useNodesLive } from "./live";

const t = texts.nodes;

/** The machines that run deployments, and the way to add one. */
export function Nodes() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  const admin = person.role === "admin";
  const live = useNodesLive(admin);
  const query = useQuery({ ...nodes, refetchInterval: MEASURED, enabled: admin });
  const { adding, add: open, close } = useOpened();
  if (!admin) return <NotFound />;
  const add = (
    <Button look="ink" onClick={open}>
      <Plus className="i sm" aria-hidden="true" />
      {t.add}
    </Button>
  );
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <div className="end row">
          <Live state={live} />
          {add}
        </div>
      </Top>
      <div className="body tblf">
        {query.isError ? (
          <ErrorState
            what={t.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(ago(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={5} /> : null}
        {query.data?.length === 0 ? (
          <EmptyState title={t.emptyTitle} act={add}>
            {t.empty}
          </EmptyState>
        ) : null}
        {query.data && query.data.length > 0 ? (
          <>
            <Fleet nodes={query.data} />
            <Table nodes={query.data} />
          </>
        ) : null}
      </div>
      {adding ? <AddNode close={close} /> : null}
    </>
  );
}

/** All nodes together: how many are in which state, and what of their room is promised. */
export function Fleet({ nodes: all }: { nodes: NodeInfo[] }) {
  const states = new Map<string, number>();
  const sum = { cpu: 0, memory: 0, cpus: 0, memories: 0, deployments: 0 };
  for (const { status, allocated, inventory, deployments } of all) {
    states.set(status, (states.get(status) ?? 0) + 1);
    sum.cpu += allocated.cpu ?? 0;
    sum.memory += (allocated.memory_mib ?? 0) * 1024 * 1024;
    sum.cpus += inventory?.cpu ?? 0;
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
          t.of(Math.round(sum.cpu * 100) / 100, sum.cpus),
          t.of(bytes(sum.memory), bytes(sum.memories)),
          sum.deployments,
        )}
      </span>
    </section>
  );
}

function Table({ nodes: all }: { nodes: NodeInfo[] }) {
  const c = t.columns;
  return (
    <table className="tbl">
      <thead>
        <tr>
          <th>{c.name}</th>
          <th>{c.state}</th>
          <th>{c.environment}</th>
          <th>{c.address}</th>
          <th>{c.room}</th>
          <th>{c.deployments}</th>
          <th>{c.build}</th>
        </tr>
      </thead>
      <tbody>
        {all.map((node) => (
          <Line key={node.name} node={node} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ node }: { node: NodeInfo }) {
  const { allocated, inventory } = node;
  const cpu = allocated.cpu ?? 0;
  const memory = bytes((allocated.memory_mib ?? 0) * 1024 * 1024);
  return (
    <tr>
      <td>
        <Link className="hover:underline" to="/nodes/$name" params={{ name: node.name }}>
          <b>{node.name}</b>
        </Link>
      </td>
      <td>
        <span className="row nw">
          <StatusMark state={node.status} />
          <Time at={node.since} short className="t2 s" />
          {node.drain ? <StatusMark state={node.drain.status} small /> : null}
          {node.revocation_pending ? (
            <span className="st s" data-st="warn" title={t.revocation}>
              <Glyph state="warn" size="sm" />
              {t.revocation.split(":")[0]}
            </span>
          ) : null}
        </span>
      </td>
      <td className="t2">{node.environment}</td>
      <td className="mono t2">{node.address}</td>
      <td className="t2 nw">
        {inventory
          ? t.room(t.of(cpu, inventory.cpu), t.of(memory, bytes(inventory.memory)))
          : t.room(cpu, memory)}
      </td>
      <td className="t2">{node.deployments}</td>
      <td className="mono t2">{node.build ?? "–"}</td>
    </tr>
  );
}
