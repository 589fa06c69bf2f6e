import type { Deployment, ServiceHealth } from "@/api/client";
import { stateWord } from "@/components/Status";
import { pageTexts } from "@/pages/deployment/pageTexts";

const t = pageTexts.closed;

/** Why a service's URL is not to be opened now; nothing when it is. */
export function whyClosed(
  status: Deployment["status"],
  health: ServiceHealth["health"],
  waiting: boolean,
): string | undefined {
  if (status === "removing" || status === "undoing") return t.leaving;
  if (status === "queued") return t.waiting;
  if (status !== "ready" && status !== "applying") return t.ended(stateWord(status));
  if (waiting) return t.waiting;
  return health === "healthy" ? undefined : t[health];
}
