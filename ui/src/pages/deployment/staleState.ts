import { useEffect, useState } from "react";
import type { Deployment, Progress, Step } from "@/api/client";
import type { LiveState } from "@/api/live";
import { isPulling } from "@/api/run";

/** A link that is back sooner than this, in ms, makes nothing unknown. */
const BRIEF = 3000;

/** Whether the shown state may be outdated: the stream lags, or the node is unreachable. */
export function useIsStale(live: LiveState, { node_offline_since }: Deployment): boolean {
  const behind = live.kind === "behind" || live.kind === "out";
  const [long, setLong] = useState(false);
  useEffect(() => {
    if (!behind) return setLong(false);
    const timer = setTimeout(setLong, BRIEF, true);
    return () => clearTimeout(timer);
  }, [behind]);
  return Boolean(node_offline_since) || (behind && long);
}

const ON_ITS_WAY: Step["status"][] = ["pulling", "running", "undoing"];

/**
 * Marks steps that are at work as unknown, since they may have ended meanwhile: also a pending one
 * whose image is pulled ahead, which may have begun.
 */
export function markUnknown(
  steps: Step[],
  progress: Record<string, Progress | undefined> = {},
): Step[] {
  return steps.map((step) =>
    ON_ITS_WAY.includes(step.status) || isPulling(step, progress[step.key])
      ? { ...step, status: "unknown" }
      : step,
  );
}

/** The progress and signs of life of steps while there are no updates. */
export const nothingHeard: {
  progress: Record<string, Progress | undefined>;
  signs: Record<string, number[] | undefined>;
} = { progress: {}, signs: {} };
