import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Deployment } from "@/api/client";
import { hasEnded, shownState } from "@/api/deploymentState";
import { Button } from "@/components/Button";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { editorTexts } from "@/editor/editorTexts";
import { deploymentsByVersion } from "../session/draftApi";

const t = editorTexts.panel;

/** Who runs which version, as far as one may see it. */
export function VersionUsers({ project }: { project: string }) {
  const query = useInfiniteQuery(deploymentsByVersion(project));
  if (query.isPending) return <Skeletons count={3} />;
  if (query.isError && !query.data)
    return (
      <ErrorState what={t.usersUnread} error={query.error} retry={() => void query.refetch()} />
    );
  const all = (query.data?.pages ?? []).flatMap((page) => page.items);
  const groups = byVersion(all);
  return (
    <>
      {groups.length === 0 && !query.hasNextPage ? <p className="t3 p-4">{t.nobody}</p> : null}
      {groups.map(([version, users]) => (
        <Group key={version} version={version} users={users} />
      ))}
      {query.hasNextPage ? (
        <div className="row p-4">
          <Button
            small
            busy={query.isFetchingNextPage && t.moreBusy}
            onClick={() => void query.fetchNextPage()}
          >
            {t.moreUsers}
          </Button>
          <span className="t3">{t.usersCut(all.length)}</span>
        </div>
      ) : null}
    </>
  );
}

/** Drafts that run are of no version. */
const DRAFT = -1;

function byVersion(all: Deployment[]): [number, Deployment[]][] {
  const groups = new Map<number, Deployment[]>();
  for (const one of all) {
    if (hasEnded(one.status)) continue;
    const version = one.scratch ? DRAFT : one.pipeline_version;
    groups.set(version, [...(groups.get(version) ?? []), one]);
  }
  return [...groups].sort(([a], [b]) => b - a);
}

function Group({ version, users }: { version: number; users: Deployment[] }) {
  return (
    <div className="chg runners">
      <b>{version === DRAFT ? t.drafts : t.runs(version)}</b>
      {users.map((user) => (
        <span key={user.id} className="row">
          <Link
            className="link"
            to="/d/$id/{-$tab}"
            params={{ id: user.id, tab: undefined }}
            search={{}}
          >
            {user.environment}/{user.name}
          </Link>
          <StatusMark state={shownState(user)} small />
        </span>
      ))}
    </div>
  );
}
