import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { formatExact } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.life;

type Asked = { kind: "extend" | "release" | "recreate" | "hold"; reason?: string; until?: string };

export type LifeAct = ReturnType<typeof useLifetime>;

/** What keeps a deployment, lets go of it, or makes it again. `done` is called once it was. */
export function useLifetime(deployment: Deployment, done: () => void) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const say = useToast();
  const [once] = useState(() => new IdempotencyKeys());
  return useMutation({
    mutationFn: (asked: Asked) => send(deployment.id, asked, once),
    onSuccess: (told, { kind }) => {
      once.done();
      cache.setQueryData(["deployment", told.id], told);
      void cache.invalidateQueries({ queryKey: ["deployment-by-name"] });
      void cache.invalidateQueries({ queryKey: ["deployments"] });
      say("done", sayDone(kind, told));
      done();
      // Also from the record of a removed deployment, which its permalink still shows.
      if (kind === "recreate")
        void navigate({
          to: "/deployments/$environment/$name/{-$tab}",
          params: { environment: told.environment, name: told.name, tab: "run" },
          search: {},
        });
    },
    onError: (error, { kind }) => {
      once.failed(error);
      // A refused hold is said in its question, which stays open.
      if (kind !== "hold") say("failed", pageTexts.refused(describeError(error).message));
    },
  });
}

function send(id: string, { kind, reason = "", until }: Asked, once: IdempotencyKeys) {
  const path = { id };
  const params = { path };
  if (kind === "extend") return ask(client.POST("/api/v1/deployments/{id}/extend", { params }));
  if (kind === "release") return ask(client.DELETE("/api/v1/deployments/{id}/hold", { params }));
  if (kind === "hold")
    return ask(client.PUT("/api/v1/deployments/{id}/hold", { params, body: { reason, until } }));
  const header = once.header({ id });
  return ask(
    client.POST("/api/v1/deployments/{id}/recreate", { params: { path, header }, body: {} }),
  );
}

function sayDone(kind: Asked["kind"], { name, expires_at: end }: Deployment): string {
  if (kind === "extend") return t.extended(name, end ? formatExact(end) : "");
  if (kind === "release") return t.released(name);
  return kind === "hold" ? t.heldNow(name) : t.recreated(name);
}
