import type { Deployment } from "@/api/client";

/** The final states, in which nothing runs. The API lists such deployments only on request. */
export const ENDED_STATES: Deployment["status"][] = ["removed", "canceled", "forgotten"];

export function hasEnded(status: Deployment["status"]): boolean {
  return ENDED_STATES.includes(status);
}
