import { useQuery } from "@tanstack/react-query";
import type { Deployment } from "@/api/client";
import { moreDeployments } from "@/api/queries/deployments";
import { Notice } from "@/components/Status";
import { formatClock } from "@/components/time";
import { texts } from "@/texts";

const t = texts.list;
/** So many machines have a line each; more are one line, which leaves the list in sight. */
const MOST = 3;

/** What the list does not show by itself: machines out of reach, and that it is not the whole list. */
export function ListNotices({ all }: { all: Deployment[] }) {
  const machines = [...byUnreachableNode(all)];
  const many = machines.length > MOST;
  return (
    <>
      <CutNotice count={all.length} />
      {(many ? [] : machines).map(([node, hit]) => (
        <Notice
          key={node}
          state="offline"
          title={t.nodeOffline(node, formatClock(hit[0]?.node_offline_since ?? ""))}
        >
          {t.nodesOffline(hit.length)}
        </Notice>
      ))}
      {many ? (
        <Notice state="offline" title={t.manyOffline(machines.length)}>
          {machines.map(([node]) => node).join(", ")}.{" "}
          {t.nodesOffline(machines.reduce((sum, [, hit]) => sum + hit.length, 0))}
        </Notice>
      ) : null}
    </>
  );
}

/** That there are more deployments than those that were read. */
export function CutNotice({ count }: { count: number }) {
  if (!useQuery(moreDeployments).data) return null;
  return (
    <Notice state="unknown" title={t.cut(count)}>
      {t.cutNote}
    </Notice>
  );
}

/** Machines out of reach with what is listed of them. */
function byUnreachableNode(all: Deployment[]): Map<string, Deployment[]> {
  const by = new Map<string, Deployment[]>();
  for (const one of all)
    if (one.node_offline_since && one.node) by.set(one.node, [...(by.get(one.node) ?? []), one]);
  return by;
}
