import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Deployment } from "@/api/client";
import { mergeOne } from "@/api/mergeDeployments";
import { deployments } from "@/api/queries/deployments";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { othersOf } from "@/pages/deployment/visitors";
import { deployTexts } from "@/pages/deployTexts";

export type Kind = "extend" | "retry" | "remove";
type Asked = { kind: Kind; on: Deployment[] };

/**
 * Runs one action on several deployments independently: a refusal stops no other. `done` gets those
 * that were refused.
 */
export function useBulk(done: (refused: Deployment[]) => void) {
  const cache = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: ({ kind, on }: Asked) => Promise.allSettled(on.map((one) => send(kind, one))),
    onSuccess: (answers, { kind, on }) => {
      const told = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      cache.setQueryData(deployments.queryKey, (list) => list && told.reduce(mergeOne, list));
      if (told.length > 0) say("done", deployTexts.rows.done[kind](nameOf(told)));
      const refusals = refusalsOf(answers, on);
      if (refusals.length > 0) say("failed", sayRefusals(refusals));
      done(refusals.map(({ deployment }) => deployment));
    },
  });
}

type Refused = { deployment: Deployment; why: string };

function refusalsOf(answers: PromiseSettledResult<Deployment>[], on: Deployment[]): Refused[] {
  return on.flatMap((deployment, i) => {
    const answer = answers[i];
    if (answer?.status !== "rejected") return [];
    return [{ deployment, why: describeError(answer.reason).message }];
  });
}

/** One message for all, since most are refused for the same reason. */
function sayRefusals(refusals: Refused[]): string {
  const by = new Map<string, string[]>();
  for (const { deployment, why } of refusals)
    by.set(why, [...(by.get(why) ?? []), deployment.name]);
  const [first] = refusals;
  if (refusals.length === 1 && first) return pageTexts.refused(first.why);
  // Of many the count says enough: they stay marked.
  const named = (names: string[]) =>
    names.length > 3 ? deployTexts.rows.several(names.length) : names.join(", ");
  const said = [...by].map(([why, names]) => `${named(names)}: ${why}`);
  return deployTexts.rows.refused(refusals.length, said.join(" "));
}

/** The name of one, the count of several. */
export function nameOf(on: Deployment[]): string {
  return on.length === 1 && on[0] ? on[0].name : deployTexts.rows.several(on.length);
}

function send(kind: Kind, one: Deployment): Promise<Deployment> {
  const params = { path: { id: one.id } };
  if (kind === "extend") return ask(client.POST("/api/v1/deployments/{id}/extend", { params }));
  if (kind === "retry") return ask(client.POST("/api/v1/deployments/{id}/retry", { params }));
  // The question named those who are there.
  const anyway = othersOf(one, Date.now()).length > 0 || undefined;
  return ask(
    client.DELETE("/api/v1/deployments/{id}", { params: { ...params, query: { anyway } } }),
  );
}
