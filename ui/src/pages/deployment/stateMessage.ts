import type { Deployment, Step } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { stateWord } from "@/components/Status";
import { formatClock, formatExact } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { sayFailure } from "./outcome";

const t = pageTexts;
const m = deployTexts.move;

/** The notice about a deployment's state. `to` is the deployment that replaced it. */
export type StateMessage = {
  state: string;
  title: string;
  more: string[];
  left?: string[];
  to?: string;
};

/**
 * The most relevant cause first. An unreachable node explains why nothing proceeds, but not a
 * failure; for a deployment that has ended the node does not matter.
 */
export function stateMessage(deployment: Deployment, steps: Step[]): StateMessage | undefined {
  const said = sayCause(deployment, steps) ?? sayMove(deployment) ?? sayState(deployment);
  const { node_offline_since: since, node, status } = deployment;
  if (!since || !node || hasEnded(status)) return said;
  const offline = `${t.offline(node, formatClock(since))}.`;
  if (said) return { ...said, more: [...said.more, offline] };
  return { state: "offline", title: offline, more: [t.offlineBody] };
}

function sayCause(deployment: Deployment, steps: Step[]): StateMessage | undefined {
  const { status, failure, left } = deployment;
  const cause = sayFailure(failure);
  const remedy = failure?.remedy ?? [];
  if (status === "stuck")
    return { state: "stuck", title: cause || stateWord("stuck"), ...leftovers(left) };
  if (status === "undoing")
    return {
      state: "undoing",
      title: cause || deployment.detail || stateWord("undoing"),
      more: [remedy, t.undoing].flat(),
    };
  if (status === "failed")
    return {
      state: "failed",
      title: cause || stateWord("failed"),
      more: [remedy, undoneTexts(deployment, steps)].flat(),
    };
  if (status === "forgotten")
    return { state: "forgotten", title: stateWord("forgotten"), ...leftovers(left) };
  return undefined;
}

function leftovers(left?: string[]): Pick<StateMessage, "more" | "left"> {
  return { more: left?.length ? [t.leftBehind] : [], left };
}

function undoneTexts({ node }: Deployment, steps: Step[]): string[] {
  const earlier = steps.some((step) => step.status === "undone");
  const all = [earlier ? t.undone : "", node ? t.nothingLeft(node) : "", t.retryRuns];
  return all.filter(Boolean);
}

/** One with volumes goes as it is; another is removed here, and made there with an id of its own. */
function sayMove({ moving, moved_to: to, status }: Deployment): StateMessage | undefined {
  if (moving) {
    const leaves = status === "removing" || hasEnded(status);
    return { state: "applying", title: m.moving, more: [leaves ? m.madeThere : m.copied] };
  }
  return to ? { state: "removed", title: m.moved, more: [m.movedBody], to } : undefined;
}

function sayState(deployment: Deployment): StateMessage | undefined {
  const { status, detail } = deployment;
  if (status === "queued")
    return { state: "queued", title: detail || stateWord("queued"), more: [t.queued] };
  if (status === "removed")
    return { state: "removed", title: `${t.removedTitle}.`, more: [keptRecord(deployment)] };
  if (status === "canceled")
    return { state: "canceled", title: `${t.canceledTitle}.`, more: [keptRecord(deployment)] };
  return undefined;
}

function keptRecord({ tombstone_until: until }: Deployment): string {
  return t.removedBody(until ? formatExact(until) : "");
}
