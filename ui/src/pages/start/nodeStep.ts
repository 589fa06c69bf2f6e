import type { NodeInfo } from "@/api/client";
import { startTexts } from "@/pages/start/startTexts";
import { add, type StartStep } from "./startStep";

const t = startTexts.steps.node;

// One that is online settles it; then what a person can mend, then what is only waited for.
const order: NodeInfo["status"][] = [
  "online",
  "untrusted",
  "incompatible",
  "enrolled",
  "offline",
  "disabled",
];

/** How far the first machine is, and what is to be done where it does not go on by itself. */
export function nodeStep(nodes: NodeInfo[]): StartStep {
  const [node] = [...nodes].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  const base = { key: "node", title: t.title, minutes: 3 } as const;
  if (!node) return { ...base, text: t.todo, done: false, way: add("/nodes", t.act) };
  const to = `/nodes/${node.name}`;
  if (node.status === "online")
    return {
      ...base,
      text: describeChecks(node),
      done: true,
      way: { kind: "page", to, label: t.look },
    };
  const waits = node.status === "enrolled" || node.status === "offline";
  return {
    ...base,
    text: [t.states[node.status]?.(node.name), node.status_detail].filter(Boolean).join(" "),
    done: false,
    state: waits ? "wait" : "stuck",
    parts: knownFacts(node),
    way: { kind: "page", to, label: node.status === "untrusted" ? t.decide : t.look },
  };
}

function describeChecks({ name, inventory }: NodeInfo): string {
  const checks = inventory?.checks ?? [];
  if (checks.length === 0) return t.done(name);
  return t.checked(name, checks.filter(({ severity }) => severity === "ok").length, checks.length);
}

/** What is known of it, in the order in which it becomes known. */
function knownFacts(node: NodeInfo) {
  const { thumbprint, pending_thumbprint: pending, inventory, status } = node;
  const heard = status !== "enrolled" && status !== "offline" && Boolean(thumbprint ?? pending);
  return [
    { label: t.parts.heard(node.address), done: heard },
    { label: t.parts.trusted, done: Boolean(thumbprint) && !pending },
    { label: t.parts.inventory, done: inventory !== undefined },
  ];
}
