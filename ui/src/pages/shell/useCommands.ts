import { type UseQueryResult, useQueries, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { plugins, registries, secrets, services } from "@/api/queries/admin";
import { environments, nodes, projects } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { rules, webhooks } from "@/api/queries/notices";
import { teams, users } from "@/api/queries/people";
import { listPageActions } from "@/components/pageActions";
import type { Theme } from "@/components/theme";
import { templates } from "../create/queries";
import { useBulk } from "../deployments/useBulk";
import { useViews } from "../deployments/views";
import {
  type Command,
  definitionCommands,
  deploymentCommands,
  globalCommands,
  navigationCommands,
  pageCommands,
  projectCommands,
  savedViews,
} from "./commands";
import { phraseCommands } from "./phrases";
import { recentCommands } from "./recentCommands";
import { useReasonNotAdmin, useReasonNotToCreate } from "./usePermissionReason";

type Named = { name: string };
const namesOf = (list?: Named[]) => list?.map((one) => one.name) ?? [];
/** What is known is good enough to jump with; it is read once when the palette opens. */
const calm = { staleTime: 30_000 };
const unasked = { ...calm, enabled: false };

/** Everything the palette knows, in its order. What each project has is asked for once one types. */
export function useCommands(theme: Theme, typed: boolean): Command[] {
  const { data: person } = useSuspenseQuery(me);
  const [create, admin] = [useReasonNotToCreate(), useReasonNotAdmin()];
  const running = useQuery({ ...deployments, ...calm }).data;
  const { views } = useViews(person.name);
  const defined = useDefined(person.role === "admin", typed);
  return useMemo(
    () => [
      ...pageCommands(listPageActions()),
      ...navigationCommands(person),
      ...globalCommands({ create, admin }, theme),
      ...deploymentCommands(running ?? []),
      ...savedViews(views),
      ...defined,
    ],
    [person, create, admin, theme, running, views, defined],
  );
}

/** The acts that a typed sentence may mean, on the deployments that are known. */
export function usePhrases(typed: string): Command[] {
  const { data: person } = useSuspenseQuery(me);
  const noCreate = useReasonNotToCreate();
  const all = useQuery({ ...deployments, ...calm }).data;
  const { mutate } = useBulk(() => {});
  return useMemo(
    () =>
      phraseCommands(typed, {
        all: all ?? [],
        person,
        noCreate,
        act: (kind, one) => mutate({ kind, on: [one] }),
      }),
    [typed, all, person, noCreate, mutate],
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
  const within = useWithin(namesOf(drawn), admin, typed);
  return useMemo(
    () => [
      ...definitionCommands("project", namesOf(drawn)),
      ...definitionCommands("settings", admin ? namesOf(drawn) : []),
      ...definitionCommands("environment", namesOf(where)),
      ...definitionCommands("service", namesOf(made)),
      ...definitionCommands("plugin", namesOf(helpers)),
      ...definitionCommands("registry", namesOf(sources)),
      ...definitionCommands("node", namesOf(machines)),
      ...definitionCommands("user", namesOf(people)),
      ...definitionCommands("team", namesOf(groups)),
      ...definitionCommands("rule", namesOf(given)),
      ...definitionCommands("webhook", namesOf(told)),
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
    combine: namesOfQueries,
  });
  const sealed = useQueries({
    queries: of.map((project) => ({ ...secrets(project), ...hidden })),
    combine: namesOfQueries,
  });
  const known = of.join("/");
  return useMemo(
    () =>
      known
        .split("/")
        .flatMap((project, at) => [
          ...projectCommands("template", project, shapes[at] ?? []),
          ...projectCommands("secret", project, sealed[at] ?? []),
        ]),
    [known, shapes, sealed],
  );
}

const namesOfQueries = (all: UseQueryResult<Named[]>[]) => all.map((one) => namesOf(one.data));

/** Without a search: the open page's acts, what was chosen last, then pages and acts. */
export function defaultCommands(all: Command[]): Command[] {
  const last = recentCommands()
    .map((id) => all.find((one) => one.id === id))
    .filter((one) => one !== undefined)
    .map((one): Command => ({ ...one, id: `recent ${one.id}`, group: "recent" }));
  const of = (...groups: Command["group"][]) => all.filter((one) => groups.includes(one.group));
  return [...of("here"), ...last, ...of("pages", "acts")];
}
