import { useQuery } from "@tanstack/react-query";
import { Eye } from "lucide-react";
import type { Deployment } from "@/api/client";
import { deployment as deploymentQuery } from "@/api/queries/deployments";
import { useNow } from "@/components/Time";
import { presenceTexts as t } from "./presenceTexts";
import { describeVisitors, othersOf, visitorsOf } from "./visitors";

/** Nothing tells a page that somebody came, so it asks again. */
const ASK_EVERY = 20_000;

/** Who is at the URLs, with their last requests. */
export function WhoIsHere({ deployment }: { deployment: Deployment }) {
  const ready = deployment.status === "ready";
  useQuery({
    ...deploymentQuery(deployment.id),
    enabled: ready,
    refetchInterval: ready ? ASK_EVERY : false,
  });
  const now = useNow(10);
  const all = visitorsOf(deployment, now);
  if (!ready || all.length === 0) return null;
  return (
    <span className="row" title={t.here}>
      <Eye className="i sm" aria-hidden="true" />
      <span className="vh">{t.here}: </span>
      {describeVisitors(all, now)}
    </span>
  );
}

/** In a question: whom the answer would interrupt, and where if that is not clear. */
export function Interrupts({ on, named = on.length > 1 }: { on: Deployment[]; named?: boolean }) {
  const now = useNow(10);
  return on.map((one) => {
    const others = othersOf(one, now);
    if (others.length === 0) return null;
    const who = describeVisitors(others, now);
    return (
      <p key={one.id} data-st="warn">
        <b>{t.interrupts(named ? `${one.name}: ${who}` : who)}</b>
      </p>
    );
  });
}
