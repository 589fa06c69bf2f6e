import type { Deployment } from "@/api/client";
import { urlTexts } from "@/pages/urls/urlTexts";

const t = urlTexts.closed;

/** Why an address is not opened from here: what has to come first, or that nothing will. */
export function whyClosed({ status, node, node_offline_since: off }: Deployment): string {
  if (status === "removed" || status === "forgotten" || status === "canceled") return t.gone;
  if (status === "removing" || status === "stuck") return t[status];
  if (off) return t.offline(node ?? "");
  if (status === "failed" || status === "undoing" || status === "ready") return t[status];
  return t.starting;
}
