import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { plugins, registries, services } from "@/api/queries/admin";
import { environments, nodes, projects } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { teams, users } from "@/api/queries/people";
import { offered } from "@/components/offers";
import type { Theme } from "@/components/theme";
import { acts, type Command, deploymentCommands, here, pages, things } from "./commands";
import { recent } from "./recent";
import { useLackToCreate, useMayAdmin } from "./useLack";

const names = (list?: { name: string }[]) => list?.map((one) => one.name);
/** What is known is good enough to jump with; it is read once when the palette opens. */
const calm = { staleTime: 30_000 };

/** Everything the palette knows, in its order. */
export function useCommands(theme: Theme): Command[] {
  const { data: person } = useSuspenseQuery(me);
  const [create, admin] = [useLackToCreate(), useMayAdmin()];
  const running = useQuery({ ...deployments, ...calm }).data;
  const drawn = useQuery({ ...projects, ...calm }).data;
  const where = useQuery({ ...environments, ...calm }).data;
  const made = useQuery({ ...services, ...calm }).data;
  const helpers = useQuery({ ...plugins, ...calm }).data;
  const sources = useQuery({ ...registries, ...calm }).data;
  const machines = useQuery({ ...nodes, ...calm, enabled: person.role === "admin" }).data;
  const people = useQuery({ ...users, ...calm, enabled: person.role === "admin" }).data;
  const groups = useQuery({ ...teams, ...calm }).data;
  return useMemo(
    () => [
      ...here(offered()),
      ...pages(person),
      ...acts({ create, admin }, theme),
      ...deploymentCommands(running ?? []),
      ...things("project", names(drawn)),
      ...things("environment", names(where)),
      ...things("service", names(made)),
      ...things("plugin", names(helpers)),
      ...things("registry", names(sources)),
      ...things("node", names(machines)),
      ...things("user", names(people)),
      ...things("team", names(groups)),
    ],
    [
      person,
      create,
      admin,
      theme,
      running,
      drawn,
      where,
      made,
      helpers,
      sources,
      machines,
      people,
      groups,
    ],
  );
}

/** Without a search: the open page's acts, what was chosen last, then pages and acts. */
export function unsearched(all: Command[]): Command[] {
  const last = recent()
    .map((id) => all.find((one) => one.id === id))
    .filter((one) => one !== undefined)
    .map((one): Command => ({ ...one, id: `recent ${one.id}`, group: "recent" }));
  const of = (...groups: Command["group"][]) => all.filter((one) => groups.includes(one.group));
  return [...of("here"), ...last, ...of("pages", "acts")];
}
