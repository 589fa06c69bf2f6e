import { useQuery } from "@tanstack/react-query";
import type { Deployment } from "@/api/client";
import { moreDeployments } from "@/api/queries/deployments";
import { Notice } from "@/components/Status";
import { clock } from "@/components/time";
import { texts } from "@/texts";

const t = texts.list;
/** So many machines have a line each; more would push the list out of sight. */
const MOST = 3;

/** What the list does not show by itself: machines out of reach, and that it is not the whole list. */
export function ListNotices({ all }: { all: Deployment[] }) {
  const more = useQuery(moreDeployments).data;
  const machines = [...unreached(all)];
  const rest = machines.slice(MOST);
  return (
    <>
      {more ? (
        <Notice state="unknown" title={t.cut(all.length)}>
          {t.cutNote}
        </Notice>
      ) : null}
      {machines.slice(0, MOST).map(([node, hit]) => (
        <Notice
          key={node}
          state="offline"
          title={t.nodeOffline(node, clock(hit[0]?.node_offline_since ?? ""))}
        >
          {t.nodesOffline(hit.length)}
        </Notice>
      ))}
      {rest.length > 0 ? (
        <Notice state="offline" title={t.moreOffline(rest.map(([node]) => node))}>
          {t.nodesOffline(rest.reduce((sum, [, hit]) => sum + hit.length, 0))}
        </Notice>
      ) : null}
    </>
  );
}

/** Machines out of reach with what is listed of them. */
function unreached(all: Deployment[]): Map<string, Deployment[]> {
  const by = new Map<string, Deployment[]>();
  for (const one of all)
    if (one.node_offline_since && one.node) by.set(one.node, [...(by.get(one.node) ?? []), one]);
  return by;
}
