import { Link } from "@tanstack/react-router";
import type { NodeInfo } from "@/api/client";
import { Glyph } from "@/components/Glyph";
import { formatBytes, formatNumber } from "@/components/quantity";
import { StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import type { Column, ListFilter } from "@/lists/listProps";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { findTroubles } from "../fleet/troubles";
import { engineName } from "./ClusterFacts";
import { cpuLimit } from "./cpuLimit";
import { labelLines } from "./nodeSettings";

const t = nodeTexts;
const l = machineTexts.list;

export const columns: Column<NodeInfo>[] = [
  {
    head: t.columns.name,
    cell: ({ name }) => (
      <Link className="nw hover:underline" to="/nodes/$name" params={{ name }}>
        <b>{name}</b>
      </Link>
    ),
  },
  { head: t.columns.state, cell: (node) => <State node={node} /> },
  {
    head: t.columns.environment,
    cell: (node) => <span className="t2">{node.environment}</span>,
  },
  {
    head: t.columns.address,
    cell: ({ address }) =>
      address ? (
        <span className="mono t2">{address}</span>
      ) : (
        <span className="t2">{machineTexts.form.agentConnects}</span>
      ),
  },
  { head: t.columns.room, cell: (node) => <span className="t2 nw">{roomOf(node)}</span> },
  {
    head: t.columns.deployments,
    cell: (node) => <span className="t2">{node.deployments}</span>,
  },
  {
    head: l.runsOn,
    cell: ({ inventory }) => <span className="t2 nw">{engineName(inventory) || "–"}</span>,
  },
  {
    head: t.columns.build,
    cell: (node) => <span className="mono t2">{node.build ?? "–"}</span>,
  },
];

/** How it is, and all that keeps it from what it is there for. */
function State({ node }: { node: NodeInfo }) {
  return (
    <span className="row nw">
      <StatusMark state={node.status} />
      <Time at={node.since} short className="t2 s" />
      {node.drain ? <StatusMark state={node.drain.status} small /> : null}
      {node.blocked ? (
        <Mark state="failed" why={node.blocked}>
          {l.takesNone}
        </Mark>
      ) : null}
      {node.revocation_pending ? (
        <Mark state="warn" why={t.revocation}>
          {t.revocation.split(":")[0] ?? ""}
        </Mark>
      ) : null}
    </span>
  );
}

function Mark({ state, why, children }: { state: string; why: string; children: string }) {
  return (
    <span className="st s" data-st={state} title={why}>
      <Glyph state={state} size="sm" />
      {children}
      <span className="vh">{`: ${why}`}</span>
    </span>
  );
}

function roomOf(node: NodeInfo): string {
  const { allocated, inventory } = node;
  const cpu = formatNumber(allocated.cpu ?? 0);
  const memory = formatBytes((allocated.memory_mib ?? 0) * 1024 * 1024);
  if (!inventory) return t.room(cpu, memory);
  return t.room(
    t.of(cpu, formatNumber(cpuLimit(node))),
    t.of(memory, formatBytes(inventory.memory)),
  );
}

export const textOf = (node: NodeInfo): string =>
  [
    node.name,
    node.address,
    node.environment,
    node.build,
    engineName(node.inventory),
    ...labelLines(node.settings?.labels),
  ].join(" ");

/** Whether a person is needed is judged as the fleet page does it; `ours` is this installation's build. */
export const filters = (ours?: string): ListFilter<NodeInfo>[] => [
  {
    key: "env",
    label: t.columns.environment,
    any: l.anyEnvironment,
    of: (node) => node.environment,
  },
  {
    key: "state",
    label: t.columns.state,
    any: l.anyState,
    of: (node) => (node.drain ? [node.status, node.drain.status] : node.status),
    say: stateWord,
  },
  {
    key: "needs",
    label: l.attention,
    any: l.anyAttention,
    of: (node) => (findTroubles({ nodes: [node], build: ours }, 0).length > 0 ? "you" : "nothing"),
    say: (value) => l.needs[value] ?? value,
  },
];
