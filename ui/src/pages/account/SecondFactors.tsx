import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { factors } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { UnreadSource } from "@/forms/UnreadSource";
import { useRefresh } from "@/forms/useSaved";
import { AddApp } from "./AddApp";
import { AddPasskey } from "./AddPasskey";
import { factorTexts as t } from "./factorTexts";
import { RecoveryCodes } from "./RecoveryCodes";

type Factor = Schemas["Factor"];
type Added = Schemas["FactorAdded"];

/** Passkeys, authenticator apps and recovery codes of the person. `done` is called once there is one, and its codes are kept. */
export function SecondFactors({ done }: { done?: () => void }) {
  const query = useQuery(factors);
  const refresh = useRefresh(["factors"]);
  const say = useToast();
  const [codes, setCodes] = useState<string[]>();
  const [asked, setAsked] = useState<Factor>();
  const added = ({ factor, recovery_codes }: Added) => {
    say("done", t.added(factor.name));
    refresh();
    if (recovery_codes.length > 0) setCodes(recovery_codes);
    else done?.();
  };
  const kept = () => {
    setCodes(undefined);
    done?.();
  };
  return (
    <section aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="hint pb-2">
        {t.hint} {query.data?.required ? t.required : ""}
      </p>
      <UnreadSource what={t.unread} of={query} />
      {query.isPending ? <Skeletons count={1} height={36} /> : null}
      {codes ? <RecoveryCodes codes={codes} kept={kept} /> : null}
      {query.data?.items.length === 0 ? <p className="t2 pb-2">{t.none}</p> : null}
      <ul>
        {query.data?.items.map((one) => (
          <Row key={one.id} one={one} remove={() => setAsked(one)} />
        ))}
      </ul>
      <div className="col gap-3">
        {query.data && query.data.items.length > 0 ? (
          <Renew left={query.data.recovery_codes} made={setCodes} />
        ) : null}
        <AddPasskey added={added} />
        <AddApp added={added} />
      </div>
      {asked ? (
        <ConfirmDelete
          name={asked.name}
          title={t.removeTitle(asked.name)}
          label={t.remove}
          remove={() => drop(asked.id)}
          done={refresh}
          close={() => setAsked(undefined)}
        >
          <p>{t.removeBody}</p>
        </ConfirmDelete>
      ) : null}
    </section>
  );
}

const drop = (id: string) =>
  ask(client.DELETE("/api/v1/me/factors/{id}", { params: { path: { id } } }));

function Row({ one, remove }: { one: Factor; remove: () => void }) {
  return (
    <li className="row s py-1">
      <span className="grow">
        <b>{one.name}</b>{" "}
        <span className="t2">
          {t.kinds[one.kind]} ·{" "}
          {one.last_used_at ? (
            <>
              {t.lastUse} <Time at={one.last_used_at} />
            </>
          ) : (
            t.never
          )}
        </span>
      </span>
      <Button small onClick={remove}>
        {t.remove}
      </Button>
    </li>
  );
}

function Renew({ left, made }: { left: number; made: (codes: string[]) => void }) {
  const refresh = useRefresh(["factors"]);
  const renew = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/me/recovery-codes")),
    onSuccess: (answer) => {
      refresh();
      made(answer.recovery_codes);
    },
  });
  return (
    <div className="row s">
      <span className="grow t2">{t.left(left)}</span>
      <Button small busy={renew.isPending && t.renewing} onClick={() => renew.mutate()}>
        {t.renew}
      </Button>
      {renew.error ? <Refusal>{describeError(renew.error).message}</Refusal> : null}
    </div>
  );
}
