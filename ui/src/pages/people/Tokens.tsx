import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { ask, client, idempotencyKey, type Schemas } from "@/api/client";
import { tokens } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { describeError, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { toNumber } from "@/forms/formValues";
import { SeparateForm } from "@/forms/SeparateForm";
import { UnreadSource } from "@/forms/UnreadSource";
import { useRefresh } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { OneTimeSecret } from "./OneTimeSecret";

const t = peopleTexts.users;
type Token = Schemas["Token"];

type Props = {
  user: string;
  make: boolean;
  /** Told whether a token is begun and not made: a sheet asks before it closes. */
  dirty?: (yes: boolean) => void;
};

/** Tokens of a user, "" for oneself: what they are for and when they were used, never what they are. */
export function Tokens({ user, make, dirty }: Props) {
  const query = useQuery(tokens(user));
  const refresh = useRefresh(["tokens"]);
  const [asked, setAsked] = useState<Token>();
  return (
    <section className="field col gap-2" aria-label={t.tokens}>
      {user ? <span className="lbl">{t.tokens}</span> : null}
      <UnreadSource what={peopleTexts.account.tokensUnread} of={query} />
      {query.isPending ? <Skeletons count={1} height={20} /> : null}
      {query.data?.length === 0 ? <span className="t2 s">{t.noTokens}</span> : null}
      {query.data?.map((one) => (
        <Row key={one.id} one={one} revoke={() => setAsked(one)} />
      ))}
      {make ? <Make user={user} done={refresh} dirty={dirty} /> : null}
      {asked ? (
        <ConfirmDelete
          name={asked.name}
          title={t.revokeOf(asked.name)}
          label={t.revoke}
          remove={() => revoke(user, asked.id)}
          done={refresh}
          close={() => setAsked(undefined)}
        >
          <p>{t.revokeBody}</p>
        </ConfirmDelete>
      ) : null}
    </section>
  );
}

const revoke = (name: string, id: string) =>
  name === ""
    ? ask(client.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } }))
    : ask(client.DELETE("/api/v1/users/{name}/tokens/{id}", { params: { path: { name, id } } }));

function Row({ one, revoke }: { one: Token; revoke: () => void }) {
  return (
    <div className="row s">
      <span className="grow">
        <b>{one.name}</b> <span className="mono t3">nop_{one.prefix}_…</span>{" "}
        <span className="t2">
          {t.scopes[one.scope]} · {t.used}{" "}
          {one.last_used_at ? <Time at={one.last_used_at} /> : t.never} · {t.ends}{" "}
          {one.expires_at ? formatExact(one.expires_at) : t.endsNever}
        </span>
      </span>
      <Button small onClick={revoke}>
        {t.revoke}
      </Button>
    </div>
  );
}

type MakeProps = { user: string; done: () => void; dirty?: (yes: boolean) => void };

/** Makes a token and shows it once. */
function Make({ user, done, dirty }: MakeProps) {
  const id = useId();
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Token["scope"]>("read");
  const [days, setDays] = useState("90");
  const make = useMutation({
    mutationFn: () => create(user, { name, scope, expires_in_days: toNumber(days) }),
    onSuccess: () => {
      setName("");
      done();
    },
  });
  const begun = name.trim() !== "" || make.isPending;
  useEffect(() => {
    dirty?.(begun);
    return () => dirty?.(false);
  }, [dirty, begun]);
  const wrong = daysProblem(days);
  const act = () => {
    if (name.trim() && !wrong && !make.isPending) make.mutate();
  };
  return (
    <SeparateForm className="col gap-2" act={act}>
      {make.data ? (
        <OneTimeSecret text={make.data.token} what={t.tokens}>
          {t.tokenMade}
        </OneTimeSecret>
      ) : null}
      <Field label={t.tokenName} value={name} onChange={(event) => setName(event.target.value)} />
      <label className="lbl" htmlFor={id}>
        {t.scope}
      </label>
      <select
        id={id}
        className="pick"
        value={scope}
        onChange={(event) => setScope(event.target.value as Token["scope"])}
      >
        <option value="read">{t.scopes.read}</option>
        <option value="full">{t.scopes.full}</option>
      </select>
      <Field
        label={peopleTexts.account.days}
        hint={peopleTexts.account.daysHint}
        error={wrong}
        inputMode="numeric"
        value={days}
        onChange={(event) => setDays(event.target.value)}
      />
      {make.error ? <Refusal>{describeError(make.error).message}</Refusal> : null}
      <span>
        <Button
          act={t.makeToken}
          reason={name.trim() ? wrong : t.tokenName}
          busy={make.isPending && t.resetting}
          onClick={() => make.mutate()}
        >
          {t.makeToken}
        </Button>
      </span>
    </SeparateForm>
  );
}

/** The most days that the API takes. */
const MOST_DAYS = 3650;

/** Only an empty field means a token without an end: 0, or a slip, must never make one. */
function daysProblem(text: string): string | undefined {
  const days = toNumber(text);
  if (days === undefined || (days >= 1 && days <= MOST_DAYS)) return undefined;
  return peopleTexts.account.daysWrong;
}

function create(user: string, body: Schemas["OwnTokenCreate"]) {
  const header = { "Idempotency-Key": idempotencyKey() };
  return user === ""
    ? ask(client.POST("/api/v1/me/tokens", { params: { header }, body }))
    : ask(
        client.POST("/api/v1/users/{name}/tokens", {
          params: { path: { name: user }, header },
          body,
        }),
      );
}
