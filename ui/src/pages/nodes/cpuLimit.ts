import type { NodeInfo } from "@/api/client";

type Part = Pick<NodeInfo, "inventory" | "cpu_overcommit">;

/** How much CPU deployments may be promised on a node: its cores, as often as its environment allows. */
export function cpuLimit({ inventory, cpu_overcommit: times = 1 }: Part): number {
  return Math.round((inventory?.cpu ?? 0) * times * 100) / 100;
}
