import { useQuery } from "@tanstack/react-query";
import { registries, services } from "@/api/queries/admin";
import { environments, nodes, projects } from "@/api/queries/catalog";
import { deployments } from "@/api/queries/deployments";
import type { World } from "./steps";

/** Reads what exists, and again every few seconds while the page is looked at. */
export function useWorld(every = 5000) {
  const again = { refetchInterval: every };
  const reads = {
    registries: useQuery({ ...registries, ...again }),
    environments: useQuery({ ...environments, ...again }),
    nodes: useQuery({ ...nodes, ...again }),
    services: useQuery({ ...services, ...again }),
    projects: useQuery({ ...projects, ...again }),
    deployments: useQuery({ ...deployments, ...again }),
  };
  const all = Object.values(reads);
  const failed = all.find((one) => one.isError);
  const ready = all.every((one) => one.data !== undefined);
  const world = ready
    ? (Object.fromEntries(Object.entries(reads).map(([key, one]) => [key, one.data])) as World)
    : undefined;
  return { world, failed };
}
