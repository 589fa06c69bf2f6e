import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { IdempotencyKeys, isUndecided } from "@/api/idempotency";
import { mergeOne } from "@/api/mergeDeployments";
import { deployments } from "@/api/queries/deployments";
import { rememberPlace } from "./lastPlace";

const route = getRouteApi("/app/deployments/new");

/** Creates once: the same key goes with every try of the same form content. */
export function useCreate() {
  const cache = useQueryClient();
  const navigate = route.useNavigate();
  const [once] = useState(() => new IdempotencyKeys());
  return useMutation({
    mutationFn: (body: Schemas["DeploymentCreate"]) =>
      ask(client.POST("/api/v1/deployments", { body, params: { header: once.header(body) } })),
    // The key makes it one create, however often it is sent.
    retry: (count, error) => isUndecided(error) && count < 2,
    onSuccess: (made) => {
      rememberPlace(made);
      cache.setQueryData(deployments.queryKey, (list) => list && mergeOne(list, made));
      cache.setQueryData(["deployment", made.id], made);
      cache.setQueryData(["deployment-by-name", made.environment, made.name], made);
      void navigate({
        to: "/deployments/$environment/$name/{-$tab}",
        params: { environment: made.environment, name: made.name, tab: "run" },
        search: {},
      });
    },
    onError: (error) => once.failed(error),
  });
}
