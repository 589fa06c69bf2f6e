import type { Deployment } from "@/api/client";

/** The states of which nothing runs any more: the API lists them only when asked. */
export const ENDED_STATES: Deployment["status"][] = ["removed", "canceled", "forgotten"];

export function hasEnded(status: Deployment["status"]): boolean {
  return ENDED_STATES.includes(status);
}
