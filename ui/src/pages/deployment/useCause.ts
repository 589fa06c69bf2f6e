import { useQuery } from "@tanstack/react-query";
import type { Deployment, Schemas } from "@/api/client";
import { run as runQuery } from "@/api/queries/deployments";

/** How often it is asked again for a line that is still on its way. */
const TRIES = 3;
const PAUSE = 1500;

/**
 * Why a run failed, with the line of the log that says so. Lines come apart from the failure, so it
 * is read again with each change of the deployment, and some more times after the last one.
 */
export function useCause(deployment: Deployment, number: number): Schemas["Failure"] | undefined {
  const { id, failure, revision, run } = deployment;
  const failed = number !== run || Boolean(failure?.step);
  const query = useQuery({
    ...runQuery(id, number),
    queryKey: ["deployment", id, "run", number, "cause", number === run ? revision : 0],
    enabled: failed && number > 0,
    placeholderData: (before) => (before?.number === number ? before : undefined),
    refetchInterval: ({ state }) =>
      state.data?.failure?.step && !state.data.failure.line && state.dataUpdateCount < TRIES
        ? PAUSE
        : false,
  });
  return failed ? query.data?.failure : undefined;
}
