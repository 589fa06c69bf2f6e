import "./access.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { environments, projects } from "@/api/queries/catalog";
import { teams } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import type { ListSearch } from "@/lists/listSearch";
import { useListSearch } from "@/lists/useOpenSheet";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { AccessCheck } from "./AccessCheck";
import { ChangeLevel } from "./ChangeLevel";
import { GridTools } from "./GridTools";
import { useGiveAccess } from "./giveAccess";
import { filterGrid, type GridFilter } from "./gridFilter";
import { type Change, type Column, Matrix } from "./Matrix";

const t = peopleTexts.teams;
const a = peopleTexts.access;

/** Each team's level on each project and environment, and whether a person can do what they want. */
export function AccessGrid() {
  useTitle(t.grid, t.title);
  return useReasonNotAdmin() ? <NotFound /> : <Page />;
}

function Page() {
  const all = useQuery(teams);
  const of = useQuery(projects);
  const on = useQuery(environments);
  const parts = [
    { query: all, unread: t.unread },
    { query: of, unread: a.projectsUnread },
    { query: on, unread: a.environmentsUnread },
  ];
  const failed = parts.filter(({ query }) => query.isError);
  const columns: Column[] = [
    ...(of.data ?? []).map(({ name }) => ({ project: name })),
    ...(on.data ?? []).map(({ name, restricted }) => ({ environment: name, restricted })),
  ];
  return (
    <>
      <Top>
        <h1>{t.gridTitle}</h1>
        <div className="end row">
          <Link className="btn" to="/teams">
            {t.list}
          </Link>
        </div>
      </Top>
      <div className="body" aria-busy={parts.some(({ query }) => query.isPending)}>
        <p className="hint px-4 py-2">{t.gridHint}</p>
        {failed.map(({ query, unread }) => (
          <ErrorState
            key={unread}
            what={unread}
            error={query.error}
            retry={() => void query.refetch()}
          />
        ))}
        {parts.some(({ query }) => query.isPending) ? <Skeletons count={6} height={52} /> : null}
        {all.data && of.data && on.data ? <Grid teams={all.data} columns={columns} /> : null}
      </div>
    </>
  );
}

type Props = { teams: Schemas["Team"][]; columns: Column[] };

function Grid({ teams: all, columns }: Props) {
  const [asked, setAsked] = useState<Change>();
  const [search, set] = useListSearch();
  const give = useGiveAccess();
  const team = all.find((one) => one.name === asked?.team);
  if (all.length === 0)
    return <Empty title={t.emptyTitle} to="/teams" act={t.first} why={t.empty} />;
  if (columns.length === 0)
    return <Empty title={a.nothing} to="/projects" act={a.addProject} why={a.nothingWhy} />;
  const filter = filterOf(search);
  const shown = filterGrid(all, columns, filter);
  const nothing = shown.teams.length === 0 || shown.columns.length === 0;
  return (
    <div className="gw">
      <div className="gm">
        <GridTools
          filter={filter}
          set={(change) => set(change)}
          count={a.counted(
            a.teamsOf(shown.teams.length, all.length),
            a.objectsOf(shown.columns.length, columns.length),
          )}
        />
        {nothing ? (
          <EmptyState
            title={a.noMatch}
            act={
              <Button
                act={a.clear}
                onClick={() => set({ team: undefined, object: undefined, show: undefined })}
              >
                {a.clear}
              </Button>
            }
          >
            {a.noMatchHint}
          </EmptyState>
        ) : (
          <Matrix {...shown} change={setAsked} give={give} />
        )}
      </div>
      <AccessCheck columns={columns} teams={all} />
      {asked && team ? (
        <ChangeLevel change={asked} team={team} teams={all} close={() => setAsked(undefined)} />
      ) : null}
    </div>
  );
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);

function filterOf(search: ListSearch): GridFilter {
  return {
    team: textOf(search.team),
    object: textOf(search.object),
    show: textOf(search.show),
  };
}

type EmptyProps = { title: string; to: "/teams" | "/projects"; act: string; why: string };

function Empty({ title, to, act, why }: EmptyProps) {
  return (
    <EmptyState
      title={title}
      act={
        <Link className="btn pri" to={to} search={{ add: true }}>
          {act}
        </Link>
      }
    >
      {why}
    </EmptyState>
  );
}
