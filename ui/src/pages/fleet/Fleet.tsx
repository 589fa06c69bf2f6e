import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { NodeInfo } from "@/api/client";
import { keys } from "@/api/queries/admin";
import { certificates, nodes } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { buttonClass } from "@/components/Button";
import { LiveBadge, Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { useNow } from "@/components/Time";
import { formatAgo } from "@/components/time";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import { texts } from "@/texts";
import { MEASURED, useNodesLive } from "../nodes/useNodesLive";
import { NotFound } from "../shell/ErrorPages";
import { AttentionList } from "./AttentionList";
import { CombinedUse } from "./CombinedUse";
import { Figures } from "./Figures";
import { Machines } from "./Machines";
import { AGAIN, lastBackup, orders, SELDOM, version, waiting } from "./queries";
import { findTroubles } from "./troubles";

/** How all machines, runs and deployments are, for admins; what needs a person stands first. */
export function Fleet() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  return person.role === "admin" ? <Page /> : <NotFound />;
}

function Page() {
  const live = useNodesLive();
  const query = useQuery({ ...nodes, refetchInterval: MEASURED });
  const toNodes = (
    <Link className={buttonClass()} to="/nodes">
      {t.toNodes}
    </Link>
  );
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <LiveBadge state={live} />
        <div className="end row">{toNodes}</div>
      </Top>
      <div className="body" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={t.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={10} /> : null}
        {query.data?.length === 0 ? (
          <EmptyState title={t.emptyTitle} act={toNodes}>
            {t.empty}
          </EmptyState>
        ) : null}
        {query.data && query.data.length > 0 ? (
          <Whole nodes={query.data} stale={query.isError} />
        ) : null}
      </div>
    </>
  );
}

/** What was read earlier is not judged once it can't be read. */
const dataUnlessFailed = <T,>({ isError, data }: { isError: boolean; data?: T }) =>
  isError ? undefined : data;

function Whole({ nodes: all, stale }: { nodes: NodeInfo[]; stale: boolean }) {
  const now = useNow(30);
  const parts = {
    deployments: useQuery({ ...deployments, refetchInterval: AGAIN }),
    queue: useQuery({ ...waiting, refetchInterval: AGAIN }),
    backups: useQuery({ ...lastBackup, refetchInterval: AGAIN }),
    version: useQuery(version),
    certificates: useQuery({ ...certificates, refetchInterval: SELDOM }),
    orders: useQuery({ ...orders, refetchInterval: SELDOM }),
    keys: useQuery({ ...keys, refetchInterval: SELDOM }),
  };
  const known = {
    nodes: all,
    deployments: dataUnlessFailed(parts.deployments),
    queue: dataUnlessFailed(parts.queue),
    backup: dataUnlessFailed(parts.backups),
    build: dataUnlessFailed(parts.version)?.build,
    certificates: dataUnlessFailed(parts.certificates),
    orders: dataUnlessFailed(parts.orders),
    keys: dataUnlessFailed(parts.keys),
  };
  const names = Object.keys(parts) as (keyof typeof parts)[];
  const unread = names.filter((name) => parts[name].isError).map((name) => t.parts[name]);
  if (names.some((name) => parts[name].isPending)) return <Skeletons count={10} />;
  return (
    <>
      <AttentionList
        troubles={findTroubles(known, now)}
        unread={unread}
        stale={stale}
        disabled={all.filter((one) => one.status === "disabled").length}
      />
      <Figures
        deployments={known.deployments}
        waiting={known.queue?.length}
        backup={known.backup}
      />
      <Machines nodes={all} />
      <CombinedUse nodes={all} />
    </>
  );
}
