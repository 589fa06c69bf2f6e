import { useQuery } from "@tanstack/react-query";
import { Hourglass, Pin } from "lucide-react";
import type { Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { environments } from "@/api/queries/catalog";
import { BidiSafe } from "@/components/BidiSafe";
import { useNow } from "@/components/Time";
import { formatDuration, formatExact } from "@/components/time";
import { deployTexts } from "@/pages/deployTexts";
import { activeHold } from "./activeHold";
import { LastReset } from "./LastReset";

const t = deployTexts.life;
const DAY = 86_400_000;

/** How long it still stays, by what rule, and since what. */
export function TimeLeft({ deployment }: { deployment: Deployment }) {
  const now = useNow();
  const hold = activeHold(deployment, now);
  if (hasEnded(deployment.status)) return null;
  if (hold) return <Held hold={hold} />;
  if (!deployment.expires_at) return null;
  return <Countdown deployment={deployment} end={deployment.expires_at} now={now} />;
}

function Held({ hold }: { hold: NonNullable<Deployment["hold"]> }) {
  return (
    <span className="row" title={hold.reason}>
      <Pin className="i sm" aria-hidden="true" />
      {t.held(hold.owner, hold.until ? formatExact(hold.until) : "")}
      <span className="t2 tr">
        <BidiSafe text={hold.reason} />
      </span>
    </span>
  );
}

type CountdownProps = { deployment: Deployment; end: string; now: number };

function Countdown({ deployment, end, now }: CountdownProps) {
  const rule = useRule(deployment);
  const left = Date.parse(end) - now;
  const soon = left < DAY;
  return (
    <span className="row wrap" data-st={soon ? "warn" : undefined} title={rule}>
      <Hourglass className="i sm" aria-hidden="true" />
      <b className={soon ? "soon" : undefined}>
        <time dateTime={end} title={t.endsAt(formatExact(end))}>
          {left > 0 ? t.left(formatDuration(left)) : t.overdue}
        </time>
      </b>
      {rule ? <span className="t3 hide-m">{rule}</span> : null}
      <LastReset deployment={deployment} />
    </span>
  );
}

/** Nothing is said before it is known whether visits count. */
function useRule({ environment, lifetime_hours: hours }: Deployment): string | undefined {
  const places = useQuery(environments);
  const place = places.data?.find((one) => one.name === environment);
  return hours && !places.isPending ? t.rule(hours, !place?.ignore_visits) : undefined;
}
