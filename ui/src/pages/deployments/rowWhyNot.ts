import type { Deployment, Me } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { stateWord } from "@/components/Status";
import { deployTexts } from "@/pages/deployTexts";
import { whyNot } from "../deployment/whyNot";
import type { Kind } from "./useBulk";

const t = deployTexts.rows;

/** What a deployment can be taken away in: while it is made it is stopped, later deleted. */
const removable = ["ready", "failed", "queued", "applying"];

/** Why a key of the list would do nothing on a row; missing rights are said elsewhere. */
export function whyNotInRow(kind: Kind, one: Deployment, person: Me): string | undefined {
  const state = stateWord(one.status).toLowerCase();
  if (kind === "retry" && one.status !== "failed") return t.notFailed(one.name, state);
  if (kind === "extend" && hasEnded(one.status)) return t.notNow(one.name, state);
  if (kind === "remove" && !removable.includes(one.status)) return t.notNow(one.name, state);
  return whyNot(kind, one, person);
}
