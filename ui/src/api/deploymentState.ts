import type { Deployment } from "@/api/client";

/** The states of which nothing runs any more: the API lists them only when asked. */
export const gone: Deployment["status"][] = ["removed", "canceled", "forgotten"];

export function isGone(status: Deployment["status"]): boolean {
  return gone.includes(status);
}
