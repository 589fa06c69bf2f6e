import { Link } from "@tanstack/react-router";
import type { NodeInfo } from "@/api/client";
import { formatBytes, formatNumber } from "@/components/quantity";
import { StatusMark } from "@/components/Status";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import { cpuLimit } from "../nodes/cpuLimit";

const MIB = 1024 * 1024;

const rank: Record<string, number> = { online: 1, disabled: 2 };

/** Each node with what it has, what is used of it and what is allocated. Who is not online comes first. */
export function Machines({ nodes }: { nodes: NodeInfo[] }) {
  const all = [...nodes].sort(
    (a, b) => (rank[a.status] ?? 0) - (rank[b.status] ?? 0) || a.name.localeCompare(b.name),
  );
  return (
    <section className="px-4 pb-4" aria-labelledby="machines">
      <div className="row gap-3 mb-1 flex-wrap">
        <h2 id="machines">{t.room}</h2>
        <span className="t2 s">{t.legend}</span>
      </div>
      <ul className="machines">
        {all.map((node) => (
          <Machine key={node.name} node={node} />
        ))}
      </ul>
    </section>
  );
}

/** What was measured before a node fell silent says nothing about now. */
const vitalsOf = ({ status, vitals }: NodeInfo) => (status === "online" ? vitals : undefined);

function Machine({ node }: { node: NodeInfo }) {
  const { name, status, environment, deployments, inventory } = node;
  const vitals = vitalsOf(node);
  return (
    <li>
      <div className="who">
        <Link className="hover:underline tr" to="/nodes/$name" params={{ name }}>
          <b>{name}</b>
        </Link>
        <StatusMark state={status} small />
        <span className="t2 s tr">
          {environment}, {t.count(deployments)}
        </span>
      </div>
      <NodeMeters node={node} />
      <Meter
        what={t.disk2}
        all={inventory?.disk}
        used={inventory && vitals ? inventory.disk - vitals.disk_free : undefined}
        say={formatBytes}
      />
    </li>
  );
}

/** How much of a node's processors and memory is used, and how much is allocated. */
export function NodeMeters({ node }: { node: NodeInfo }) {
  const { inventory, allocated } = node;
  const vitals = vitalsOf(node);
  return (
    <>
      <Meter
        what={t.cpu}
        all={inventory?.cpu}
        used={vitals?.cpu}
        promised={allocated.cpu ?? 0}
        limit={inventory ? cpuLimit(node) : undefined}
        times={node.cpu_overcommit}
        say={formatNumber}
        unit={t.cores}
      />
      <Meter
        what={t.memory}
        all={inventory?.memory}
        used={vitals?.memory_used}
        promised={(allocated.memory_mib ?? 0) * MIB}
        say={formatBytes}
      />
    </>
  );
}

type MeterProps = {
  what: string;
  all?: number;
  used?: number;
  promised?: number;
  /** What may be promised, if that is not what there is. */
  limit?: number;
  /** How many times it may be promised. */
  times?: number;
  say: (value: number) => string;
  /** What is counted, where the number does not say it. */
  unit?: string;
};

/** A bar of a machine's room: filled is used, a mark is what is allocated; hatched when not known. */
function Meter({ what, all, used, promised, limit = all, times, say, unit }: MeterProps) {
  const known = all !== undefined && used !== undefined && all > 0;
  const share = (value: number, whole = all) => Math.min(100, (value / (whole || 1)) * 100);
  const words = known ? t.used(say(used), say(all), unit) : t.unknown;
  const more =
    promised !== undefined && limit
      ? t.promised(say(promised), say(limit), unit, times)
      : undefined;
  return (
    <div className="meter">
      <div className="row wrap gap-x-2 gap-y-0">
        <span className="s">{what}</span>
        <span className="s t2 end">{words}</span>
      </div>
      <svg
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        role="img"
        aria-label={t.meter(what, words, more)}
        data-known={known}
        data-full={known && share(used) >= 90}
      >
        <title>{t.meter(what, words, more)}</title>
        <rect className="all" width="100" height="6" />
        {known ? <rect className="used" width={share(used)} height="6" /> : null}
        {promised && limit ? (
          <rect
            className="promised"
            x={Math.max(0, share(promised, limit) - 1)}
            width="1"
            height="6"
          />
        ) : null}
      </svg>
      {more ? (
        <span className="s t2 mt-1 block" aria-hidden="true">
          {more}
        </span>
      ) : null}
    </div>
  );
}
