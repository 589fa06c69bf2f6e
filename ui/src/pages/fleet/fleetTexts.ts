import { formatCount } from "@/components/quantity";
import { plural } from "@/plural";

// What the fleet page says: all machines, runs and deployments at one glance.

export const fleetTexts = {
  title: "Fleet",
  unread: "The fleet could not be read.",
  emptyTitle: "No node yet",
  empty:
    "This page shows the state of all machines, their free room, and what needs your attention.",
  toNodes: "Nodes",
  needs: (count: number) =>
    count === 0 ? "Nothing needs you" : plural(count, "thing needs you", "things need you"),
  needsUnknown: "What needs you is not fully known",
  calm: (disabled: number) =>
    `${disabled === 0 ? "Every node" : "Every node that is not disabled"} is heard, every check is well, nothing failed, nothing waits too long, every certificate lasts and no key is missing.${disabled === 0 ? "" : ` ${plural(disabled, "node is", "nodes are")} disabled and not judged.`}`,
  partly: (what: string) => `${what} could not be read, so it is not judged here.`,
  parts: {
    deployments: "Deployments",
    queue: "The queue",
    backups: "The last backup",
    version: "This installation's version",
    certificates: "Certificates",
    orders: "Orders for certificates",
    keys: "Master keys",
  },
  more: (count: number) => `and ${count} more`,
  nodeStates: {
    offline: (name: string) => `${name} is offline`,
    untrusted: (name: string) => `${name} shows a certificate nobody approved`,
    incompatible: (name: string) => `${name} runs an incompatible agent`,
    enrolled: (name: string) => `${name} has never answered`,
  } as Record<string, (name: string) => string>,
  nodeRemedies: {
    offline:
      "Its deployments are out of reach and keep running. See that the machine and its agent are up.",
    untrusted: "Compare the thumbprints on its page, then approve or refuse.",
    incompatible: "Upgrade the agent, on its page. Services keep running.",
    enrolled:
      "Start its agent with the line shown when you added the node; Rotate token on its page shows a new one.",
  } as Record<string, string>,
  lasting: "For",
  many: {
    offline: (count: number) => `${plural(count, "node is", "nodes are")} offline`,
    untrusted: (count: number) =>
      `${plural(count, "node shows", "nodes show")} a certificate nobody approved`,
    incompatible: (count: number) =>
      `${plural(count, "node runs", "nodes run")} an incompatible agent`,
    enrolled: (count: number) => `${plural(count, "node has", "nodes have")} never answered`,
    revocation: (count: number) =>
      `${plural(count, "node has", "nodes have")} not heard yet that a token was revoked`,
    drain: (count: number) => `${plural(count, "node", "nodes")} should be drained by now`,
    blocked: (count: number) => `${plural(count, "node takes", "nodes take")} no new deployment`,
    disk: (count: number) => `${plural(count, "node is", "nodes are")} short of disk`,
    build: (count: number) => `${plural(count, "node runs", "nodes run")} another version`,
  } as Record<string, (count: number) => string>,
  manyChecks: (id: string) => (count: number) =>
    `${plural(count, "node fails", "nodes fail")} the check “${id}”, or reports no result`,
  blocked: (name: string) => `${name} takes no new deployment`,
  check: (name: string, id: string) => `${name} fails the check “${id}”`,
  unjudged: (name: string, id: string) => `${name} reports no result for its check “${id}”`,
  ranOut: (name: string, age: string) => `The certificate ${name} expired ${age}`,
  runsOut: (name: string, left: string) => `The certificate ${name} expires in ${left}`,
  certificateRemedy: (hosts: string) =>
    `It is shown for ${hosts}. Replace it: Settings, Certificates.`,
  order: (names: string) => `No certificate could be obtained for ${names}`,
  orderRemedy: "What is ordered, and Try again, is in the environment's sheet.",
  key: (name: string, values: number) =>
    `The master key ${name} is missing, and ${plural(values, "value")} can't be opened`,
  keyRemedy: "Add it to NULLOPS_MASTER_KEYS (or its file) again, then restart.",
  disk: (name: string, free: string, floor: string) =>
    `${name} has ${free} of disk left, below its floor of ${floor}`,
  diskRemedy:
    "Nothing new is placed there. Remove deployments or images, or give it a larger disk.",
  build: (name: string, theirs: string, ours: string) => `${name} runs ${theirs}; this is ${ours}`,
  buildRemedy: "Upgrade the agent, on its page. Services keep running.",
  revocation: (name: string) => `${name} has not heard yet that its token was revoked`,
  revocationRemedy: "It refuses the old token as soon as it is back.",
  overdue: (name: string) => `${name} should be drained by now`,
  overdueRemedy: "Deployments are left on it: end them, or have them moved on its page.",
  deployments: {
    stuck: (count: number) => `${plural(count, "deployment")} stuck`,
    failed: (count: number) => `${plural(count, "deployment")} failed`,
  },
  deploymentRemedies: {
    stuck: "Something could not be removed. Retry, or forget what is left.",
    failed: "The person who created one can retry or delete it.",
  },
  waits: (count: number, age: string) =>
    `${plural(count, "run")} ${count === 1 ? "waits" : "wait"}, the first for ${age}`,
  waitsRemedy:
    "Running deployments do not free room soon enough. Add a node, or remove what nobody needs.",
  noBackup: "No backup of this installation is known",
  oldBackup: (age: string) => `The last backup was ${age}`,
  backupRemedy: "Settings, Backups has the line that writes one.",
  figures: "Deployments and runs",
  none: "No deployment yet.",
  underWay: (count: number) => `${plural(count, "run")} under way`,
  waiting: (count: number) => (count === 0 ? "none waiting" : `${count} waiting`),
  lastBackup: "Last backup",
  never: "never",
  curves: "Use of all nodes",
  curvesUnread: "What the nodes used could not be read.",
  curvesLeftOut: (shown: number, left: number) =>
    `The curves are of the ${shown} nodes with the most deployments; ${left} are left out.`,
  heard: "Each point adds up the nodes that were heard then.",
  room: "Nodes",
  cpu: "CPU",
  memory: "Memory",
  disk2: "Disk",
  cores: "cores",
  used: (used: string, all: string, unit?: string) =>
    `${used} of ${[all, unit].filter(Boolean).join(" ")} used`,
  promised: (promised: string, limit: string, unit?: string, times = 1) =>
    `${promised} of ${[limit, unit].filter(Boolean).join(" ")} allocated${times === 1 ? "" : `, shared ${formatCount(times)} times`}`,
  meter: (what: string, used: string, promised?: string) =>
    promised ? `${what}: ${used}, ${promised}` : `${what}: ${used}`,
  unknown: "not known",
  count: (count: number) => plural(count, "deployment"),
  legend: "Filled is used, the mark is what is allocated.",
};
