import type { Step } from "@/api/client";
import { elapsedBetween } from "@/components/time";

/** How long a step has taken; NaN if its state is unknown. */
export function elapsedTime({ status, started_at, ended_at }: Step, now: number): number {
  return status === "unknown" && !ended_at ? Number.NaN : elapsedBetween(started_at, ended_at, now);
}

/**
 * How long a run has worked since its first step, without queueing and without waiting for
 * approvals. The usual times that it is compared with exclude both.
 */
export function workingTime(steps: Step[], end: string | undefined, now: number): number {
  const [start] = steps.flatMap((step) => step.started_at ?? []).sort();
  const asked = steps
    .filter((step) => step.kind === "approval" && step.started_at)
    .reduce((sum, step) => sum + elapsedBetween(step.started_at, step.ended_at ?? end, now), 0);
  return Math.max(0, elapsedBetween(start, end, now) - asked);
}
