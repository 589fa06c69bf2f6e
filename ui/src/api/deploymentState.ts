import type { Deployment } from "@/api/client";

/** The final states, in which nothing runs. The API lists such deployments only on request. */
export const ENDED_STATES: Deployment["status"][] = ["removed", "canceled", "forgotten"];

export function hasEnded(status: Deployment["status"]): boolean {
  return ENDED_STATES.includes(status);
}

/**
 * The state that people see and filter by: what exists may be offline, what is ready degraded, and a
 * run that waits for a person does nothing until then.
 */
export function shownState({ status, condition, question }: Deployment): string {
  return condition ?? (question && !question.answered_by ? "waiting" : status);
}
