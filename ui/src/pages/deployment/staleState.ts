import { useEffect, useState } from "react";
import type { Deployment, Progress, Step } from "@/api/client";
import type { LiveState } from "@/api/live";

/** A link that is back sooner than this, in ms, makes nothing unknown. */
const BRIEF = 3000;

/** Whether what is shown may be from before: the stream is behind, or the node is out of reach. */
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

/** What was on its way may have ended meanwhile, well or not. */
export function markUnknown(steps: Step[]): Step[] {
  return steps.map((step) =>
    ON_ITS_WAY.includes(step.status) ? { ...step, status: "unknown" } : step,
  );
}

/** What a step pulls and says while nobody hears of it. */
export const nothingHeard: {
  progress: Record<string, Progress | undefined>;
  signs: Record<string, number[] | undefined>;
} = { progress: {}, signs: {} };
