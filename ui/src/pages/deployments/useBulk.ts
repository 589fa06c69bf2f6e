import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Deployment } from "@/api/client";
import { mergeOne } from "@/api/list";
import { deployments } from "@/api/queries/deployments";
import { describe } from "@/components/States";
import { useToast } from "@/components/Toast";
import { deployTexts } from "@/deployTexts";
import { texts } from "@/texts";

export type Kind = "extend" | "retry" | "remove";
type Asked = { kind: Kind; on: Deployment[] };

/** One act on several deployments, each by itself: the refusal of one stops no other. */
export function useBulk(done: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: ({ kind, on }: Asked) => Promise.allSettled(on.map(({ id }) => send(kind, id))),
    onSuccess: (answers, { kind }) => {
      const told = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const refused = answers.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
      cache.setQueryData(deployments.queryKey, (list) => list && told.reduce(mergeOne, list));
      if (told.length > 0) say("done", deployTexts.rows.done[kind](nameOf(told)));
      // Nobody reads ten of them: the others stay marked in what they are.
      for (const error of refused.slice(0, 3))
        say("failed", texts.page.refused(describe(error).message));
      done();
    },
  });
}

/** The name of one, the count of several. */
export function nameOf(on: Deployment[]): string {
  return on.length === 1 && on[0] ? on[0].name : deployTexts.rows.several(on.length);
}

function send(kind: Kind, id: string): Promise<Deployment> {
  const params = { path: { id } };
  if (kind === "extend") return ask(client.POST("/api/v1/deployments/{id}/extend", { params }));
  if (kind === "retry") return ask(client.POST("/api/v1/deployments/{id}/retry", { params }));
  return ask(client.DELETE("/api/v1/deployments/{id}", { params }));
}
