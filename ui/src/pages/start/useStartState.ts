import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { ask, client, type Deployment } from "@/api/client";
import { keys, registries, services } from "@/api/queries/admin";
import { environments, nodes, projects } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { mainUrl } from "../deployments/filters";
import type { StartState } from "./startStep";

/** By each of these a person chose a password: in the account, with an invitation, with a link that resets it. */
const CHOSE = ["change password", "join", "reset password"];

/** Whether a person ever chose the password, as the audit knows it. */
export const chosePassword = (actor: string) =>
  queryOptions({
    queryKey: ["audit", "chose password", actor],
    queryFn: async () => {
      const reads = CHOSE.map((action) => {
        const query = { actor, action, result: "ok", limit: 1 } as const;
        return ask(client.GET("/api/v1/audit", { params: { query } }));
      });
      return (await Promise.all(reads)).some(({ items }) => items.length > 0);
    },
  });

/** Whether anybody opened a URL of the deployment that the last step leads to. */
function useVisited(all: Deployment[] | undefined, every: number): boolean {
  const id = all?.find(mainUrl)?.id ?? "";
  const { data } = useQuery({
    queryKey: ["deployments", id, "activity"],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/activity", { params: { path: { id } } })),
    enabled: id !== "",
    refetchInterval: every,
  });
  return data?.items.some(({ kind }) => kind === "visited") ?? false;
}

/** Reads what exists, and again every few seconds while the page is looked at. */
export function useStartState(every = 5000) {
  const { data: person } = useSuspenseQuery(me);
  const again = { refetchInterval: every };
  const password = useQuery({ ...chosePassword(person.name), enabled: person.password });
  const reads = {
    keys: useQuery(keys),
    registries: useQuery({ ...registries, ...again }),
    environments: useQuery({ ...environments, ...again }),
    nodes: useQuery({ ...nodes, ...again }),
    services: useQuery({ ...services, ...again }),
    projects: useQuery({ ...projects, ...again }),
    deployments: useQuery({ ...deployments, ...again }),
  };
  const visited = useVisited(reads.deployments.data, every);
  const all = [...Object.values(reads), ...(person.password ? [password] : [])];
  const failed = all.find((one) => one.isError);
  const ready = all.every((one) => one.data !== undefined);
  const read = Object.fromEntries(Object.entries(reads).map(([key, one]) => [key, one.data]));
  const world = ready ? ({ ...read, password: password.data, visited } as StartState) : undefined;
  return { world, failed };
}
