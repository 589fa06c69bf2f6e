import type { Deployment, Me } from "@/api/client";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { activeHold } from "./activeHold";

// What the API refuses regardless of permissions (controlplane/lifecycle: life.go, stop.go,
// retry.go, recreate.go). Buttons show the reason; keyboard shortcuts check it.

const t = deployTexts.life;

/** `again` makes it under its own name, `recreate` a copy under another. */
export type Act =
  | "extend"
  | "hold"
  | "release"
  | "remove"
  | "retry"
  | "recreate"
  | "again"
  | "move"
  | "check";
type Person = Pick<Me, "name" | "role">;

/** Why an act would be refused now; nothing when it would not. Missing rights: `usePermissionReasonOn`. */
export function whyNot(act: Act, deployment: Deployment, person: Person): string | undefined {
  if (act === "again" && (deployment.moving || deployment.moved_to))
    return deployTexts.move.noAgain;
  if (act === "retry" || act === "recreate" || act === "again")
    return deployment.scratch ? pageTexts.scratchHint : undefined;
  if (act === "check") return undefined;
  if (act === "move") return whyNotMove(deployment, person);
  if (act === "release") return whyNotRelease(deployment, person);
  if (act === "remove") return heldByOther(deployment, person);
  if (isLeaving(deployment)) return t.leaving;
  if (act === "hold") return heldByOther(deployment, person);
  return deployment.expires_at ? undefined : t.noEnd;
}

/**
 * Whether the deployment only has to be cleaned up. One that is rolled back after a failure is
 * still wanted, even when stuck; one that was removed or has expired is not.
 */
function isLeaving({ status, removed_by, failure }: Deployment): boolean {
  if (status === "removing") return true;
  const clearing = status === "undoing" || status === "stuck";
  return clearing && (Boolean(removed_by) || failure?.code === "deadline");
}

function heldByOther(deployment: Deployment, person: Person): string | undefined {
  const hold = activeHold(deployment);
  if (!hold || hold.owner === person.name) return undefined;
  return person.role === "admin" ? t.heldRelease(hold.owner) : t.releaseReason(hold.owner);
}

function whyNotMove(deployment: Deployment, person: Person): string | undefined {
  if (deployment.scratch) return pageTexts.scratchHint;
  if (deployment.moving) return deployTexts.move.moving;
  return person.role === "admin" ? undefined : heldByOther(deployment, person);
}

function whyNotRelease(deployment: Deployment, person: Person): string | undefined {
  return person.role === "admin" ? undefined : heldByOther(deployment, person);
}
