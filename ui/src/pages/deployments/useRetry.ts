import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Deployment } from "@/api/client";
import { mergeOne } from "@/api/mergeDeployments";
import { deployments } from "@/api/queries/deployments";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { actTexts } from "@/pages/deployment/actTexts";

/** Retry from the list: the row changes in place, by the answer and then by the stream. */
export function useRetry() {
  const cache = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (deployment: Deployment) =>
      ask(
        client.POST("/api/v1/deployments/{id}/retry", { params: { path: { id: deployment.id } } }),
      ),
    onSuccess: (told) => {
      cache.setQueryData(deployments.queryKey, (list) => list && mergeOne(list, told));
      say("done", actTexts.retryAsked(told.name));
    },
    onError: (error) => say("failed", actTexts.refused(describeError(error).message)),
  });
}
