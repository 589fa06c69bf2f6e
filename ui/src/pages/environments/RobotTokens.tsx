import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { describeError, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { toNumber } from "@/forms/formValues";
import { SeparateForm } from "@/forms/SeparateForm";
import { useRefresh } from "@/forms/useSaved";
import { environmentTexts } from "@/pages/environments/environmentTexts";
import { ReadFailed } from "../deployment/ReadFailed";
import { OneTimeSecret } from "../people/OneTimeSecret";

const t = environmentTexts.robots;
const PATH = "/api/v1/environments/{name}/robots" as const;

type Robot = Schemas["Pass"];

type Props = {
  name: string;
  /** Told whether a token is begun and not made: the sheet asks before it closes. */
  dirty: (yes: boolean) => void;
};

/** Tokens with which automated tests open every deployment of an environment. */
export function RobotTokens({ name, dirty }: Props) {
  const query = useQuery({
    queryKey: ["robots", name],
    queryFn: async () => (await ask(client.GET(PATH, { params: { path: { name } } }))).items,
  });
  const refresh = useRefresh(["robots"]);
  const [made, setMade] = useState<Schemas["RobotMade"]>();
  const [asked, setAsked] = useState<Robot>();
  const withdrawn = () => {
    refresh();
    if (made?.pass.id === asked?.id) setMade(undefined);
  };
  return (
    <details className="fold">
      <summary>{t.title}</summary>
      <div className="col gap-3 pt-3">
        <p className="hint">{t.what}</p>
        <ReadFailed what={t.unread} query={query} />
        {query.isPending ? <Skeletons count={1} height={20} /> : null}
        {query.data?.length === 0 ? <p className="t2">{t.none}</p> : null}
        <List all={query.data ?? []} withdraw={setAsked} />
        {made ? (
          <OneTimeSecret text={made.token} what={t.theToken}>
            {t.once}
          </OneTimeSecret>
        ) : null}
        <Make name={name} made={setMade} settled={refresh} dirty={dirty} />
      </div>
      {asked ? (
        <ConfirmDelete
          name={asked.label}
          title={t.withdrawOf(asked.label)}
          label={t.withdraw}
          remove={() => deleteToken(name, asked.id)}
          done={withdrawn}
          close={() => setAsked(undefined)}
        >
          <p>{t.withdrawBody}</p>
        </ConfirmDelete>
      ) : null}
    </details>
  );
}

const deleteToken = (name: string, pass: string) =>
  ask(client.DELETE(`${PATH}/{pass}`, { params: { path: { name, pass } } }));

function List({ all, withdraw: asks }: { all: Robot[]; withdraw: (one: Robot) => void }) {
  return (
    <ul className="col gap-1">
      {all.map((one) => (
        <li key={one.id} className="row s">
          <span className="grow">
            <b>{one.label}</b>{" "}
            <span className="t2">
              {t.by(one.created_by)} · {t.used}{" "}
              {one.last_used_at ? <Time at={one.last_used_at} /> : t.never} · {t.ends}{" "}
              {formatExact(one.expires_at)}
            </span>
          </span>
          <Button small aria-label={t.withdrawAct(one.label)} onClick={() => asks(one)}>
            {t.withdraw}
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** The most days that the API takes. */
const MOST_DAYS = 365;

function daysProblem(text: string): string | undefined {
  const days = toNumber(text) ?? 0;
  return days >= 1 && days <= MOST_DAYS ? undefined : t.daysWrong;
}

/** A retry after a lost response uses the same key, so that at most one unseen token is created. */
function useMake(name: string, made: (one: Schemas["RobotMade"]) => void, settled: () => void) {
  const once = useRef(new IdempotencyKeys()).current;
  return useMutation({
    mutationFn: (body: Schemas["RobotAsk"]) => {
      const header = once.header(body);
      return ask(client.POST(PATH, { params: { path: { name }, header }, body }));
    },
    onSuccess: (one) => {
      once.done();
      made(one);
    },
    onError: (error) => once.failed(error),
    onSettled: settled,
  });
}

type MakeProps = {
  name: string;
  made: (one: Schemas["RobotMade"]) => void;
  settled: () => void;
  dirty: (yes: boolean) => void;
};

function Make({ name, made, settled, dirty }: MakeProps) {
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("30");
  const make = useMake(name, made, settled);
  const begun = label.trim() !== "" || make.isPending;
  useEffect(() => {
    dirty(begun);
    return () => dirty(false);
  }, [dirty, begun]);
  const wrong = daysProblem(days);
  const act = () => {
    if (label.trim() === "" || wrong || make.isPending) return;
    const body = { label: label.trim(), hours: (toNumber(days) ?? 0) * 24 };
    make.mutate(body, { onSuccess: () => setLabel("") });
  };
  return (
    <SeparateForm className="col gap-2" act={act}>
      <Field
        label={t.label}
        hint={t.labelHint}
        maxLength={200}
        value={label}
        onChange={(event) => setLabel(event.target.value)}
      />
      <Field
        label={t.days}
        inputMode="numeric"
        error={wrong}
        value={days}
        onChange={(event) => setDays(event.target.value)}
      />
      {make.error ? <Refusal>{describeError(make.error).message}</Refusal> : null}
      <span>
        <Button
          act={t.make}
          reason={label.trim() ? wrong : t.labelMissing}
          busy={make.isPending && t.making}
          onClick={act}
        >
          {t.make}
        </Button>
      </span>
    </SeparateForm>
  );
}
