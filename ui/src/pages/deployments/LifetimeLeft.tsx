import { memo } from "react";
import type { Deployment } from "@/api/client";
import { useNow } from "@/components/Time";
import { formatDuration, formatExact } from "@/components/time";
import { texts } from "@/texts";
import { activeHold } from "../deployment/activeHold";

const t = texts.list.left;
const MINUTE = 60_000;
const DAY = 86_400_000;

type Props = { deployment: Deployment };

/** The remaining lifetime, or that it is held or unlimited. */
export const LifetimeLeft = memo(function Left({ deployment }: Props) {
  const now = useNow(60);
  const { text, title, soon } = leftOf(deployment, now);
  return (
    <span role="cell" className="c-l" title={title} data-st={soon ? "warn" : undefined}>
      {text}
    </span>
  );
});

export function leftOf(deployment: Deployment, now: number) {
  const end = deployment.expires_at;
  const hold = activeHold(deployment, now);
  if (hold) {
    const until = hold.until ? formatExact(hold.until) : "";
    return { text: t.held, title: t.heldBy(hold.owner, until, hold.reason) };
  }
  if (!end) return { text: "" };
  const left = Date.parse(end) - now;
  const text = left > 0 ? formatDuration(Math.max(1, Math.ceil(left / MINUTE)) * MINUTE) : t.over;
  return { text, title: t.until(formatExact(end)), soon: left < DAY };
}
