import type { NodeInfo } from "@/api/client";

/** How long a replacement may take before the agent from before is the one that stays. */
const PATIENCE = 3 * 60_000;

/** Whether the agent is of another release. One out of reach can't be asked to change that. */
export function needsUpgrade({ status, build }: NodeInfo, ours: string): boolean {
  if (status === "incompatible") return true;
  return status === "online" && build !== undefined && build !== ours;
}

export type Stage = "none" | "wanted" | "goes" | "done" | "back";

/** How far a replacement is that was asked for at a moment; by what the node says it runs. */
export function stageOf(
  node: NodeInfo,
  ours: string,
  asked: number | undefined,
  now: number,
): Stage {
  if (asked === undefined) return needsUpgrade(node, ours) ? "wanted" : "none";
  if (node.status === "online" && node.build === ours) return "done";
  if (now - asked < PATIENCE) return "goes";
  return needsUpgrade(node, ours) ? "back" : "none";
}
