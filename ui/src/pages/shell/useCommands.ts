import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { plugins, registries, services } from "@/api/queries/admin";
import { environments, nodes, projects } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import type { Theme } from "@/components/theme";
import { acts, type Command, deploymentCommands, pages, things } from "./commands";
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
  return useMemo(
    () => [
      ...pages(person),
      ...acts({ create, admin }, theme),
      ...deploymentCommands(running ?? []),
      ...things("project", names(drawn)),
      ...things("environment", names(where)),
      ...things("service", names(made)),
      ...things("plugin", names(helpers)),
      ...things("registry", names(sources)),
      ...things("node", names(machines)),
    ],
    [person, create, admin, theme, running, drawn, where, made, helpers, sources, machines],
  );
}

/** Without a search: what was chosen last, then pages and acts. */
export function unsearched(all: Command[]): Command[] {
  const last = recent()
    .map((id) => all.find((one) => one.id === id))
    .filter((one) => one !== undefined)
    .map((one): Command => ({ ...one, id: `recent ${one.id}`, group: "recent" }));
  return [...last, ...all.filter((one) => one.group === "pages" || one.group === "acts")];
}
