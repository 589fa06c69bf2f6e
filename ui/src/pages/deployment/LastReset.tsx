import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Deployment } from "@/api/client";
import { activity, type Reset } from "@/api/queries/activity";
import { Sheet } from "@/components/Overlay";
import { Skeletons } from "@/components/States";
import { Time, useNow } from "@/components/Time";
import { formatAgo, formatExact } from "@/components/time";
import { deployTexts } from "@/pages/deployTexts";
import { ReadFailed } from "./ReadFailed";

const t = deployTexts.life;

/** What set the countdown back last; pressed, it lists the ones before and the rule. */
export function LastReset({ deployment }: { deployment: Deployment }) {
  const now = useNow(10);
  const [open, setOpen] = useState(false);
  const { data } = useQuery(activity(deployment.id, deployment.expires_at));
  const last = data?.items[0];
  if (!last) return null;
  return (
    <>
      <button
        type="button"
        className="link min-h-6"
        aria-haspopup="dialog"
        title={formatExact(last.at)}
        onClick={() => setOpen(true)}
      >
        {t.last(`${sayReset(last)}, ${formatAgo(last.at, now)}`)}
      </button>
      {open ? <Resets deployment={deployment} close={() => setOpen(false)} /> : null}
    </>
  );
}

function sayReset({ kind, by }: Reset): string {
  return t.resets[kind](by);
}

function Resets({ deployment, close }: { deployment: Deployment; close: () => void }) {
  const query = useQuery(activity(deployment.id, deployment.expires_at));
  return (
    <Sheet open narrow onClose={close} title={t.resetsTitle(deployment.name)}>
      <div className="form grow">
        <ReadFailed what={t.resetsUnread} query={query} />
        {query.isPending ? <Skeletons count={4} /> : null}
        <p className="t2">{query.data?.rule}</p>
        <ul className="flex flex-col gap-2">
          {query.data?.items.map((one) => (
            <li key={`${one.at} ${one.kind}`} className="row">
              {sayReset(one)} <Time at={one.at} className="t3 end" />
            </li>
          ))}
        </ul>
      </div>
    </Sheet>
  );
}
