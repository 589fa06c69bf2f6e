import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Deployment } from "@/api/client";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { othersOf } from "./visitors";

const t = pageTexts;

type Asked = "retry" | "delete" | "forget";

export type Act = ReturnType<typeof useAct>;

/** The actions that end or restart a deployment. `done` is called after the response. */
export function useAct(deployment: Deployment, done: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  const params = { path: { id: deployment.id } };
  const said = {
    retry: t.retryAsked,
    delete: deployment.status === "applying" ? t.cancelAsked : t.deleteAsked,
    forget: t.forgotten,
  };
  return useMutation({
    mutationFn: (asked: Asked) => {
      // Who is there was named in the question.
      const anyway = othersOf(deployment, Date.now()).length > 0 || undefined;
      if (asked === "retry")
        return ask(client.POST("/api/v1/deployments/{id}/retry", { params, body: { anyway } }));
      if (asked === "forget")
        return ask(client.POST("/api/v1/deployments/{id}/forget", { params }));
      return ask(
        client.DELETE("/api/v1/deployments/{id}", { params: { ...params, query: { anyway } } }),
      );
    },
    onSuccess: (told, asked) => {
      cache.setQueryData(["deployment", deployment.id], told);
      void cache.invalidateQueries({ queryKey: ["deployment", deployment.id, "runs"] });
      say("done", said[asked](deployment.name));
      done();
    },
    onError: (error) => {
      say("failed", t.refused(describeError(error).message));
      done();
    },
  });
}
