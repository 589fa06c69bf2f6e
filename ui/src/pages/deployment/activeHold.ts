import type { Deployment } from "@/api/client";

// Without a word of any catalogue: the list of deployments asks too, which is loaded first of all.

/** The hold, unless it has expired: the API still returns expired ones. */
export function activeHold({ hold }: Deployment, now = Date.now()): Deployment["hold"] {
  return hold && (!hold.until || Date.parse(hold.until) > now) ? hold : undefined;
}
