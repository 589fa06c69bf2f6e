import type { Deployment, NodeInfo, Schemas } from "@/api/client";
import { formatBytes } from "@/components/quantity";
import { formatAgo, formatShortAgo } from "@/components/time";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import { nameCheck, sortBySeverity } from "../nodes/Checks";
import {
  certificateTroubles,
  keyTroubles,
  type Ordered,
  orderTroubles,
} from "./certificateTroubles";
import type { Trouble } from "./trouble";

/** What is known of the installation; a part that could not be read is absent and not judged. */
export type Known = {
  nodes: NodeInfo[];
  deployments?: Deployment[];
  queue?: Schemas["QueueItem"][];
  /** When the last backup was written; null when none is known. */
  backup?: string | null;
  build?: string;
  certificates?: Schemas["Certificate"][];
  orders?: Ordered[];
  keys?: Schemas["MasterKey"][];
};

const MINUTE = 60_000;
/** A run that waits longer than this is worth a look. */
const LONG_WAIT = 30 * MINUTE;
/** A nightly backup that was missed twice. */
const OLD_BACKUP = 48 * 60 * MINUTE;
/** What the server takes for a disk floor of 0. */
const FLOOR_MIB = 1024;

// A node that is out of reach concerns everybody on it; a deployment that failed concerns its maker.
const order = ["untrusted", "incompatible", "offline", "failed", "stuck", "warn", "unknown"];

const rank = ({ state }: Trouble) => {
  const at = order.indexOf(state);
  return at < 0 ? order.length : at;
};

/** All that needs a person, the worst first. */
export function findTroubles(known: Known, now: number): Trouble[] {
  const all = [
    ...known.nodes.flatMap((node) => ofNode(node, known.build)),
    ...ofDeployments(known.deployments ?? []),
    ...ofQueue(known.queue ?? [], now),
    ...ofBackup(known.backup, now),
    ...certificateTroubles(known.certificates ?? [], now),
    ...orderTroubles(known.orders ?? [], now),
    ...keyTroubles(known.keys ?? []),
  ];
  return all.sort((a, b) => rank(a) - rank(b));
}

function ofNode(node: NodeInfo, build?: string): Trouble[] {
  const { name, status } = node;
  if (status === "disabled") return [];
  const found = (
    id: string,
    state: string,
    what: string,
    remedy: string,
    since?: string,
  ): Trouble => ({
    id: `${name} ${id}`,
    state,
    what,
    remedy,
    since,
    where: { node: name },
    kind: id === "state" ? status : id,
    many: t.many[id === "state" ? status : id] ?? t.manyChecks(nameCheck(id.replace("check ", ""))),
  });
  const out = t.nodeStates[status];
  const remedy = node.status_detail ?? t.nodeRemedies[status] ?? "";
  const all = out ? [found("state", lookOf(status), out(name), remedy, node.since)] : [];
  if (node.revocation_pending)
    all.push(found("revocation", "warn", t.revocation(name), t.revocationRemedy));
  if (node.drain?.status === "overdue")
    all.push(found("drain", "warn", t.overdue(name), t.overdueRemedy, node.drain.deadline));
  if (status !== "online") return all;
  for (const { id, severity, remedy, detail } of failedChecks(node)) {
    const says = (severity === "unknown" ? t.unjudged : t.check)(name, nameCheck(id));
    all.push(found(`check ${id}`, looks[severity], says, remedy ?? detail));
  }
  if (node.blocked && !failedChecks(node).some((check) => check.severity === "critical"))
    all.push(found("blocked", "failed", t.blocked(name), node.blocked));
  const floor = (node.settings?.disk_floor_mib || FLOOR_MIB) * 1024 * 1024;
  if (node.vitals && node.vitals.disk_free < floor)
    all.push(
      found(
        "disk",
        "failed",
        t.disk(name, formatBytes(node.vitals.disk_free), formatBytes(floor)),
        t.diskRemedy,
      ),
    );
  if (build && node.build && node.build !== build)
    all.push(found("build", "warn", t.build(name, node.build, build), t.buildRemedy));
  return all;
}

const lookOf = (status: string) => (status === "enrolled" ? "warn" : status);

const looks = { critical: "failed", warning: "warn", unknown: "unknown", ok: "done" };

/** Checks that failed or are unknown: both need attention. */
const failedChecks = (node: NodeInfo) =>
  sortBySeverity(node.inventory?.checks ?? []).filter(({ severity }) => severity !== "ok");

function ofDeployments(all: Deployment[]): Trouble[] {
  return (["stuck", "failed"] as const).flatMap((state) => {
    const count = all.filter((one) => one.status === state).length;
    if (count === 0) return [];
    const look = state === "stuck" ? "stuck" : "failed";
    const what = t.deployments[state](count);
    return [
      { id: state, state: look, what, remedy: t.deploymentRemedies[state], where: { state } },
    ];
  });
}

function ofQueue(all: Schemas["QueueItem"][], now: number): Trouble[] {
  const first = all.map((one) => one.queued_at).sort()[0];
  if (!first || now - Date.parse(first) < LONG_WAIT) return [];
  const what = t.waits(all.length, formatShortAgo(first, now));
  return [{ id: "queue", state: "warn", what, remedy: t.waitsRemedy, where: { page: "queue" } }];
}

function ofBackup(last: string | null | undefined, now: number): Trouble[] {
  if (last === undefined) return [];
  if (last !== null && now - Date.parse(last) < OLD_BACKUP) return [];
  const what = last === null ? t.noBackup : t.oldBackup(formatAgo(Date.parse(last), now));
  return [
    { id: "backup", state: "warn", what, remedy: t.backupRemedy, where: { page: "backups" } },
  ];
}
