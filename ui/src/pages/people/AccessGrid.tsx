import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { environments, projects } from "@/api/queries/catalog";
import { teams } from "@/api/queries/people";
import { Top, useTitle } from "@/components/Shell";
import { describe, EmptyState, ErrorState, Skeletons } from "@/components/States";
import { useToast } from "@/components/Toast";
import { peopleTexts } from "@/peopleTexts";
import { NotFound } from "../shell/Problems";
import { useMayAdmin } from "../shell/useLack";
import { levelOf, type Target, withLevel } from "./grants";

const t = peopleTexts.teams;
type Team = Schemas["Team"];

/** Each team's level on each project and environment, changed in place. */
export function AccessGrid() {
  useTitle(t.grid, t.title);
  return useMayAdmin() ? <NotFound /> : <Grid />;
}

function Grid() {
  const all = useQuery(teams);
  const of = useQuery(projects).data ?? [];
  const and = useQuery(environments).data ?? [];
  const targets: Target[] = [
    ...of.map((one) => ({ project: one.name })),
    ...and.map((one) => ({ environment: one.name })),
  ];
  return (
    <>
      <Top>
        <h1>{t.gridTitle}</h1>
      </Top>
      <div className="body">
        <p className="hint px-4 py-2">{t.gridHint}</p>
        {all.isPending ? <Skeletons count={6} /> : null}
        {all.isError ? (
          <ErrorState what={t.unread} error={all.error} retry={() => void all.refetch()} />
        ) : null}
        {all.data?.length === 0 ? (
          <EmptyState title={t.emptyTitle} act={null}>
            {t.empty}
          </EmptyState>
        ) : null}
        {all.data?.length ? <Matrix teams={all.data} targets={targets} /> : null}
      </div>
    </>
  );
}

const nameOf = (target: Target) => target.project ?? target.environment ?? "";
const keyOf = (target: Target) => `${target.project ? "p" : "e"}/${nameOf(target)}`;

function Matrix({ teams: all, targets }: { teams: Team[]; targets: Target[] }) {
  const projects = targets.filter((one) => one.project).length;
  return (
    <div className="overflow-x-auto">
      <table className="tbl">
        <thead>
          <tr>
            <th rowSpan={2}>{t.columns.name}</th>
            {projects > 0 ? <th colSpan={projects}>{t.projects}</th> : null}
            {targets.length > projects ? (
              <th colSpan={targets.length - projects}>{t.environments}</th>
            ) : null}
          </tr>
          <tr>
            {targets.map((target) => (
              <th key={keyOf(target)}>{nameOf(target)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map((team) => (
            <tr key={team.name}>
              <td>
                <b>{team.name}</b>
              </td>
              {targets.map((target) => (
                <td key={keyOf(target)}>
                  <Cell team={team} target={target} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One level. The team is read anew before it is written, and written only if it is still that. */
function Cell({ team, target }: { team: Team; target: Target }) {
  const say = useToast();
  const cache = useQueryClient();
  const change = useMutation({
    mutationFn: (level: string) => grant(team.name, target, level),
    onSuccess: () => say("done", t.changed(team.name, nameOf(target))),
    onError: (error) => say("failed", describe(error).message),
    onSettled: () => cache.invalidateQueries({ queryKey: ["teams"] }),
  });
  return (
    <select
      className="btn sm"
      aria-label={t.cell(team.name, nameOf(target))}
      value={change.isPending ? change.variables : levelOf(team.grants, target)}
      aria-busy={change.isPending}
      onChange={(event) => change.isPending || change.mutate(event.target.value)}
    >
      {Object.entries(t.levels).map(([level, label]) => (
        <option key={level} value={level}>
          {label}
        </option>
      ))}
    </select>
  );
}

async function grant(name: string, target: Target, level: string) {
  const path = { name };
  const read = await client.GET("/api/v1/teams/{name}", { params: { path } });
  const team = await ask(Promise.resolve(read));
  const tag = read.response.headers.get("ETag");
  return ask(
    client.PUT("/api/v1/teams/{name}", {
      params: { path },
      headers: tag ? { "If-Match": tag } : {},
      body: {
        description: team.description,
        members: team.members,
        grants: withLevel(team.grants, target, level),
      },
    }),
  );
}
