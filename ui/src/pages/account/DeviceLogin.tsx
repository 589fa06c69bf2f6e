import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { me } from "@/api/queries/common";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Top, useTitle } from "@/components/Shell";
import { describeError } from "@/components/States";
import { Time } from "@/components/Time";
import { deviceTexts as t } from "./deviceTexts";

const route = getRouteApi("/app/device");

type Asked = Schemas["DeviceLogin"];

/** A person compares the code of a program with what they see there, and signs it in. */
export function DeviceLogin() {
  useTitle(t.title);
  const { code } = route.useSearch();
  const [typed, setTyped] = useState(code ?? "");
  const [missing, setMissing] = useState(false);
  const look = useMutation({
    mutationFn: (wanted: string) =>
      ask(client.GET("/api/v1/me/device-logins/{code}", { params: { path: { code: wanted } } })),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMissing(!typed.trim());
    if (typed.trim()) look.mutate(typed.trim());
  };
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <div className="body">
        <div className="sheetpage col gap-4">
          {look.data ? (
            <Decide asked={look.data} />
          ) : (
            <form onSubmit={submit} noValidate className="col gap-4">
              <p>{t.why}</p>
              <Field
                label={t.code}
                mono
                autoFocus
                autoComplete="off"
                autoCapitalize="characters"
                spellCheck={false}
                value={typed}
                hint={t.codeHint}
                error={missing ? t.codeMissing : undefined}
                onChange={(event) => setTyped(event.target.value)}
              />
              {look.error ? <Refusal>{describeError(look.error).message}</Refusal> : null}
              <span className="row">
                <Button look="ink" type="submit" busy={look.isPending && t.nextBusy}>
                  {t.next}
                </Button>
              </span>
            </form>
          )}
        </div>
      </div>
    </>
  );
}

/** What asks, and from where: the person has to recognise it. */
function Decide({ asked }: { asked: Asked }) {
  const { data: person } = useSuspenseQuery(me);
  const params = { path: { code: asked.code } };
  const say = useMutation({
    mutationFn: (yes: boolean) =>
      yes
        ? ask(client.POST("/api/v1/me/device-logins/{code}", { params }))
        : ask(client.DELETE("/api/v1/me/device-logins/{code}", { params })),
  });
  if (say.isSuccess)
    return (
      <div role="status" className="col gap-4">
        <p>{say.variables ? t.approved : t.denied}</p>
        {say.variables ? (
          <p>
            {t.revoke}{" "}
            <Link className="link" to="/account">
              {t.account}
            </Link>
          </p>
        ) : null}
      </div>
    );
  return (
    <>
      <h2>
        <BidiSafe text={t.asks(asked.name)} />
      </h2>
      <p>{asked.scope === "read" ? t.readAs(person.name) : t.as(person.name)}</p>
      <dl className="kv">
        <dt>{t.code}</dt>
        <dd className="mono" data-code>
          {asked.code}
        </dd>
        <dt>{t.from}</dt>
        <dd className="mono">{asked.address}</dd>
        <dt>{t.at}</dt>
        <dd>
          <Time at={asked.created_at} alone />
        </dd>
        <dt>{t.lasts}</dt>
        <dd>{asked.token_days ? t.days(asked.token_days) : t.always}</dd>
      </dl>
      <p>
        <b>{t.yours}</b>
      </p>
      {say.error ? <Refusal>{describeError(say.error).message}</Refusal> : null}
      <span className="row">
        <Button
          look="ink"
          busy={say.isPending && say.variables && t.approveBusy}
          onClick={() => say.mutate(true)}
        >
          {t.approve}
        </Button>
        <Button
          look="danger"
          busy={say.isPending && !say.variables && t.denyBusy}
          onClick={() => say.mutate(false)}
        >
          {t.deny}
        </Button>
      </span>
    </>
  );
}
