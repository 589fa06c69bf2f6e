import { type UseQueryResult, useQueries, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { plugins, registries, secrets, services } from "@/api/queries/admin";
import { environments, nodes, projects } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { rules, webhooks } from "@/api/queries/notices";
import { teams, users } from "@/api/queries/people";
import { offered } from "@/components/pageActions";
import type { Theme } from "@/components/theme";
import { templates } from "../create/queries";
import { useViews } from "../deployments/views";
import {
  acts,
  type Command,
  deploymentCommands,
  here,
  ofProject,
  pages,
  savedViews,
  things,
} from "./commands";
import { recent } from "./recentCommands";
import { useLackToCreate, useMayAdmin } from "./usePermissionReason";

type Named = { name: string };
const names = (list?: Named[]) => list?.map((one) => one.name) ?? [];
/** What is known is good enough to jump with; it is read once when the palette opens. */
const calm = { staleTime: 30_000 };
const unasked = { ...calm, enabled: false };

/** Everything the palette knows, in its order. What each project has is asked for once one types. */
export function useCommands(theme: Theme, typed: boolean): Command[] {
  const { data: person } = useSuspenseQuery(me);
  const [create, admin] = [useLackToCreate(), useMayAdmin()];
  const running = useQuery({ ...deployments, ...calm }).data;
  const { views } = useViews(person.name);
  const defined = useDefined(person.role === "admin", typed);
  return useMemo(
    () => [
      ...here(offered()),
      ...pages(person),
      ...acts({ create, admin }, theme),
      ...deploymentCommands(running ?? []),
      ...savedViews(views),
      ...defined,
    ],
    [person, create, admin, theme, running, views, defined],
  );
}

/** What was defined, by name; what only an admin sees is asked for an admin only. */
function useDefined(admin: boolean, typed: boolean): Command[] {
  const theirs = admin ? calm : unasked;
  const drawn = useQuery({ ...projects, ...calm }).data;
  const where = useQuery({ ...environments, ...calm }).data;
  const made = useQuery({ ...services, ...calm }).data;
  const helpers = useQuery({ ...plugins, ...calm }).data;
  const sources = useQuery({ ...registries, ...calm }).data;
  const machines = useQuery({ ...nodes, ...theirs }).data;
  const people = useQuery({ ...users, ...theirs }).data;
  const groups = useQuery({ ...teams, ...calm }).data;
  const given = useQuery({ ...rules, ...theirs }).data;
  const told = useQuery({ ...webhooks, ...theirs }).data;
  const within = useWithin(names(drawn), admin, typed);
  return useMemo(
    () => [
      ...things("project", names(drawn)),
      ...things("settings", admin ? names(drawn) : []),
      ...things("environment", names(where)),
      ...things("service", names(made)),
      ...things("plugin", names(helpers)),
      ...things("registry", names(sources)),
      ...things("node", names(machines)),
      ...things("user", names(people)),
      ...things("team", names(groups)),
      ...things("rule", names(given)),
      ...things("webhook", names(told)),
      ...within,
    ],
    [admin, drawn, where, made, helpers, sources, machines, people, groups, given, told, within],
  );
}

/** Templates and secrets, project by project. */
function useWithin(of: string[], admin: boolean, typed: boolean): Command[] {
  const [open, hidden] = [typed ? calm : unasked, typed && admin ? calm : unasked];
  const shapes = useQueries({
    queries: of.map((project) => ({ ...templates(project), ...open })),
    combine: listed,
  });
  const sealed = useQueries({
    queries: of.map((project) => ({ ...secrets(project), ...hidden })),
    combine: listed,
  });
  const known = of.join("/");
  return useMemo(
    () =>
      known
        .split("/")
        .flatMap((project, at) => [
          ...ofProject("template", project, shapes[at] ?? []),
          ...ofProject("secret", project, sealed[at] ?? []),
        ]),
    [known, shapes, sealed],
  );
}

const listed = (all: UseQueryResult<Named[]>[]) => all.map((one) => names(one.data));

/** Without a search: the open page's acts, what was chosen last, then pages and acts. */
export function unsearched(all: Command[]): Command[] {
  const last = recent()
    .map((id) => all.find((one) => one.id === id))
    .filter((one) => one !== undefined)
    .map((one): Command => ({ ...one, id: `recent ${one.id}`, group: "recent" }));
  const of = (...groups: Command["group"][]) => all.filter((one) => groups.includes(one.group));
  return [...of("here"), ...last, ...of("pages", "acts")];
}
