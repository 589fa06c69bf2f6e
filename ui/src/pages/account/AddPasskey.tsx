import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { knowsPasskeys, makePasskey, passkeyProblem } from "@/api/passkeys";
import { signInMethods } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { describeError } from "@/components/States";
import { passkeyTexts } from "@/pages/sign-in/passkeyTexts";
import { factorTexts as t } from "./factorTexts";

/** Has this device, a phone or a security key make a passkey. */
export function AddPasskey({ added }: { added: (made: Schemas["FactorAdded"]) => void }) {
  const methods = useQuery(signInMethods);
  const [name, setName] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<string>();
  const works = methods.data?.passkeys && knowsPasskeys();
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (!name || busy) return setSaid(name ? undefined : t.nameMissing);
    setBusy(true);
    setSaid(undefined);
    try {
      const answer = await makePasskey(await ask(client.POST("/api/v1/me/passkeys/question")));
      const body = { name, ...answer };
      added(await ask(client.POST("/api/v1/me/passkeys", { body })));
      setName(undefined);
    } catch (error) {
      const problem = passkeyProblem(error);
      setSaid(problem ? passkeyTexts[problem] : describeError(error).message);
    }
    setBusy(false);
  };
  if (name === undefined)
    return (
      <div>
        <Button
          act={t.addPasskey}
          reason={methods.data && !works ? t.passkeyHere : undefined}
          onClick={() => setName(t.passkeyName)}
        >
          {t.addPasskey}
        </Button>
        <p className="hint pt-1">{t.passkeyHint}</p>
      </div>
    );
  return (
    <form className="form" onSubmit={add} noValidate>
      <Field
        label={t.name}
        value={name}
        maxLength={100}
        autoFocus
        error={said}
        onChange={(e) => setName(e.target.value)}
      />
      <span className="row">
        <Button type="submit" look="ink" busy={busy && t.passkeyBusy}>
          {t.begin}
        </Button>
        <Button onClick={() => setName(undefined)}>{t.cancel}</Button>
      </span>
    </form>
  );
}
