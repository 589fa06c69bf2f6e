import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { IdempotencyKeys } from "@/api/idempotency";
import { isSilence, me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { useShownLack } from "@/components/lack";
import { isName } from "@/components/names";
import { describeError } from "@/components/States";
import { createTexts } from "@/pages/create/createTexts";
import { deployTexts } from "@/pages/deployTexts";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { whyNot } from "./whyNot";

const t = deployTexts.capsule;

/** Exactly these images again, beside whatever is there. */
export function Recreate({ deployment }: { deployment: Deployment }) {
  const { data: person } = useSuspenseQuery(me);
  const [name, setName] = useState(`${deployment.name.slice(0, 36)}-bug`);
  const make = useCopy(deployment);
  const lack = usePermissionReasonOn(deployment);
  const wrong = wrongWith(name, deployment);
  useShownLack(lack);
  if (lack) return null;
  return (
    <div className="row top0 wrap">
      <Field
        label={t.name}
        mono
        value={name}
        maxLength={40}
        hint={t.recreateHint}
        error={make.isError ? describeError(make.error).message : wrong}
        onChange={(event) => {
          setName(event.target.value);
          // What was refused was another name.
          if (!make.isPending) make.reset();
        }}
      />
      <Button
        className="mt-5"
        reason={whyNot("recreate", deployment, person) ?? wrong}
        busy={make.isPending && deployTexts.life.recreating}
        onClick={() => make.mutate(name)}
      >
        {t.recreate}
      </Button>
    </div>
  );
}

/** Its own name is free again only once it is gone. */
function wrongWith(name: string, deployment: Deployment): string | undefined {
  if (!isName(name)) return createTexts.nameWrong;
  return name === deployment.name && !hasEnded(deployment.status) ? t.nameTaken(name) : undefined;
}

/** Makes the copy, once however often it is sent, and goes to it. */
function useCopy({ id }: Deployment) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [once] = useState(() => new IdempotencyKeys());
  return useMutation({
    mutationFn: (name: string) => {
      const body = { name, pin_digests: true };
      const params = { path: { id }, header: once.header(body) };
      return ask(client.POST("/api/v1/deployments/{id}/recreate", { params, body }));
    },
    retry: (count, error) => isSilence(error) && count < 2,
    onError: (error) => once.failed(error),
    onSuccess: ({ environment, name }) => {
      once.done();
      void cache.invalidateQueries({ queryKey: ["deployments"] });
      void cache.invalidateQueries({ queryKey: ["deployment-by-name", environment, name] });
      void navigate({
        to: "/deployments/$environment/$name/{-$tab}",
        params: { environment, name, tab: "run" },
        search: {},
      });
    },
  });
}
