import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { getPasskey, knowsPasskeys, passkeyProblem } from "@/api/passkeys";
import { me } from "@/api/queries/common";
import { factors } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError, Skeletons } from "@/components/States";
import { factorTexts } from "@/pages/account/factorTexts";
import { HiddenUsername } from "@/pages/sign-in/HiddenUsername";
import { passkeyTexts } from "@/pages/sign-in/passkeyTexts";
import { signInTexts } from "@/pages/sign-in/signInTexts";

const t = factorTexts.stepUp;

type Props = { done: (proved: boolean) => void };

/** Asks who uses the session, before a deed that cannot be undone. */
export default function StepUp({ done }: Props) {
  const { data: person } = useSuspenseQuery(me);
  const query = useQuery(factors);
  const form = useId();
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState<"typed" | "passkey">();
  const [said, setSaid] = useState<string>();
  const kinds = query.data?.items.map((one) => one.kind) ?? [];
  const send = async (kind: "typed" | "passkey", proof: () => Promise<Schemas["StepUp"]>) => {
    setBusy(kind);
    setSaid(undefined);
    try {
      await ask(client.POST("/api/v1/me/step-up", { body: await proof() }));
      done(true);
    } catch (error) {
      const problem = passkeyProblem(error);
      setSaid(problem ? passkeyTexts[problem] : describeError(error).message);
      setBusy(undefined);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!typed) return setSaid(t.missing);
    const body = kinds.length > 0 ? { code: typed } : { password: typed };
    void send("typed", async () => body);
  };
  const byPasskey = () =>
    send("passkey", async () => ({
      passkey: await getPasskey(await ask(client.POST("/api/v1/me/step-up/passkey"))),
    }));
  const withFactor = kinds.length > 0;
  const byKey = kinds.includes("passkey") && knowsPasskeys();
  // What is asked for depends on it: a field that turned into another would have been typed into.
  if (query.isPending)
    return (
      <Confirm open onClose={() => done(false)} title={t.title} acts={null}>
        <p>{t.why}</p>
        <Skeletons count={2} height={36} />
      </Confirm>
    );
  return (
    <Confirm
      open
      onClose={() => done(false)}
      title={t.title}
      acts={
        <>
          <Button onClick={() => done(false)}>{factorTexts.cancel}</Button>
          <Button
            type="submit"
            form={form}
            look={byKey ? "plain" : "ink"}
            busy={busy === "typed" && t.busy}
          >
            {t.submit}
          </Button>
        </>
      }
    >
      <p>{t.why}</p>
      {byKey ? (
        <Button look="ink" busy={busy === "passkey" && signInTexts.passkeyBusy} onClick={byPasskey}>
          {t.passkey}
        </Button>
      ) : null}
      <form id={form} className="col gap-2" onSubmit={submit} noValidate>
        <HiddenUsername name={person.name} />
        <Field
          key={withFactor ? "code" : "password"}
          label={withFactor ? t.code : t.password}
          type={withFactor ? "text" : "password"}
          mono={withFactor}
          autoComplete={withFactor ? "one-time-code" : "current-password"}
          autoFocus
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
        />
        {said ? <Refusal>{said}</Refusal> : null}
      </form>
    </Confirm>
  );
}
