import type { Run, Schemas, Step } from "@/api/client";

type Outcome = { state: string; cleanup?: string };

/**
 * What a step came to, and apart from it what became of its effects. A step that was undone before it
 * had a result has only its status.
 */
export function outcomeOf(step: Step | Schemas["CapsuleStep"]): Outcome {
  const { status, result, cleanup } = step;
  return cleanup && result ? { state: result, cleanup } : { state: status };
}

/** A run keeps its result when its deployment is removed later. */
export function outcomeOfRun({ status, result }: Pick<Run, "status" | "result">): Outcome {
  return result && status !== result ? { state: result, cleanup: status } : { state: status };
}

export function hasFailed({ status, result }: Step): boolean {
  return (result ?? status) === "failed";
}

/** Why it failed, in one sentence; a control plane of an earlier release sends only its parts. */
export function sayFailure(failure?: Schemas["Failure"]): string {
  return failure?.sentence ?? [failure?.step, failure?.message].filter(Boolean).join(": ");
}
