import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { isLack, useShownLack } from "@/components/lack";
import { describeError, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { formatExact } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { SeparateForm } from "@/forms/SeparateForm";
import { gateTexts } from "@/pages/deployment/gateTexts";
import { OneTimeSecret } from "../people/OneTimeSecret";
import { ReadFailed } from "./ReadFailed";

const t = gateTexts.links;
type Pass = Schemas["Pass"];

type Props = { id: string; effective: Schemas["DeploymentGate"]["effective"]; reason?: string };

/** Links that open a deployment without an account: for whom, until when, never what they are. */
export function GuestLinks({ id, effective, reason }: Props) {
  const cache = useQueryClient();
  const queryKey = ["deployment", id, "guests"];
  const query = useQuery({
    queryKey,
    queryFn: () => ask(client.GET("/api/v1/deployments/{id}/passes", { params: { path: { id } } })),
  });
  const refresh = () => void cache.invalidateQueries({ queryKey });
  const [asked, setAsked] = useState<Pass>();
  return (
    <section aria-label={t.title} className="col gap-2">
      <h3>{t.title}</h3>
      <span className="t2 s">{t.idle[effective] || t.hint}</span>
      <ReadFailed what={t.unread} query={query} />
      {query.isPending ? <Skeletons count={1} height={20} /> : null}
      {query.data?.items.length === 0 ? <span className="t3 s">{t.none}</span> : null}
      {query.data?.items.map((one) => (
        <Row key={one.id} one={one} reason={reason} withdraw={() => setAsked(one)} />
      ))}
      <Make id={id} reason={reason} done={refresh} />
      {asked ? (
        <ConfirmDelete
          name={asked.label}
          title={t.withdrawTitle(asked.label)}
          label={t.withdraw}
          remove={() =>
            ask(
              client.DELETE("/api/v1/deployments/{id}/passes/{pass}", {
                params: { path: { id, pass: asked.id } },
              }),
            )
          }
          done={refresh}
          close={() => setAsked(undefined)}
        >
          <p>{t.withdrawBody}</p>
        </ConfirmDelete>
      ) : null}
    </section>
  );
}

function Row({ one, reason, withdraw }: { one: Pass; reason?: string; withdraw: () => void }) {
  return (
    <div className="row s">
      <span className="grow">
        <b>
          <BidiSafe text={one.label} />
        </b>{" "}
        <span className="t2">
          {t.by(one.created_by)} · {one.last_used_at ? `${t.used} ` : t.never}
          {one.last_used_at ? <Time at={one.last_used_at} /> : null} · {t.ends}{" "}
          {formatExact(one.expires_at)}
        </span>
      </span>
      <Button small reason={reason} aria-label={t.withdrawOf(one.label)} onClick={withdraw}>
        {t.withdraw}
      </Button>
    </div>
  );
}

/** Makes a link, once however often it is sent, and shows it once. */
function Make({ id, reason, done }: { id: string; reason?: string; done: () => void }) {
  const field = useId();
  const [label, setLabel] = useState("");
  const [hours, setHours] = useState("168");
  const [once] = useState(() => new IdempotencyKeys());
  const make = useMutation({
    mutationFn: (body: Schemas["GuestAsk"]) => {
      const params = { path: { id }, header: once.header(body) };
      return ask(client.POST("/api/v1/deployments/{id}/passes", { params, body }));
    },
    onError: (error) => once.failed(error),
    onSuccess: () => {
      once.done();
      setLabel("");
      done();
    },
  });
  useShownLack(reason);
  const wrong = reason ?? (label.trim() ? undefined : t.labelMissing);
  const act = () => {
    if (!wrong && !make.isPending) make.mutate({ label: label.trim(), hours: Number(hours) });
  };
  if (isLack(reason)) return null;
  return (
    <SeparateForm className="col gap-2" act={act}>
      {make.data ? (
        <OneTimeSecret text={make.data.url} what={t.link}>
          {t.made}
        </OneTimeSecret>
      ) : null}
      <Field
        label={t.label}
        value={label}
        maxLength={200}
        onChange={(event) => setLabel(event.target.value)}
      />
      <label className="lbl" htmlFor={field}>
        {t.time}
      </label>
      <select
        id={field}
        className="pick"
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      >
        {Object.entries(t.times).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      {make.error ? <Refusal>{describeError(make.error).message}</Refusal> : null}
      <span>
        <Button act={t.make} reason={wrong} busy={make.isPending && t.making} onClick={act}>
          {t.make}
        </Button>
      </span>
    </SeparateForm>
  );
}
