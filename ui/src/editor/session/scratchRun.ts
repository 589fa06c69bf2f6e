import { skipToken, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { ask, client, type Deployment, type Step } from "@/api/client";

/** How often it is asked how far a run is, in ms: it changes by the second. */
const EVERY = 1_000;

/** How far a deployment of the draft is, and what came of each of its steps. */
export function useScratchRun(made: Deployment | undefined) {
  const { data } = useQuery({
    queryKey: ["deployment", made?.id ?? "", "scratch run"],
    queryFn: made ? () => readRun(made.id) : skipToken,
    refetchInterval: ({ state }) => (isMoving(state.data?.deployment ?? made) ? EVERY : false),
  });
  const steps = useMemo(
    () => new Map((data?.steps ?? []).map((step): [string, Step] => [step.key, step])),
    [data],
  );
  return { deployment: data?.deployment ?? made, steps };
}

/** The deployment first: what its run says is never older than that. */
async function readRun(id: string) {
  const deployment = await ask(
    client.GET("/api/v1/deployments/{id}", { params: { path: { id } } }),
  );
  const run = deployment.run;
  const { steps } = await ask(
    client.GET("/api/v1/deployments/{id}/runs/{run}", { params: { path: { id, run } } }),
  );
  return { deployment, steps };
}

function isMoving(deployment?: Deployment): boolean {
  return (
    deployment !== undefined &&
    ["queued", "applying", "undoing", "removing"].includes(deployment.status)
  );
}
