import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { Field } from "@/components/Field";
import { describeError } from "@/components/States";
import { factorTexts as t } from "./factorTexts";

type Added = Schemas["FactorAdded"];

/** An authenticator app: its secret is shown once, and it counts once it has shown a code. */
export function AddApp({ added }: { added: (made: Added) => void }) {
  const [name, setName] = useState<string>();
  const begin = useMutation({
    mutationFn: (wanted: string) =>
      ask(client.POST("/api/v1/me/authenticators", { body: { name: wanted } })),
  });
  const close = () => {
    setName(undefined);
    begin.reset();
  };
  if (name === undefined)
    return (
      <div>
        <Button act={t.addApp} onClick={() => setName(t.appName)}>
          {t.addApp}
        </Button>
      </div>
    );
  if (begin.data)
    return (
      <Confirm
        begun={begin.data}
        close={close}
        added={(made) => {
          close();
          added(made);
        }}
      />
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name) begin.mutate(name);
  };
  return (
    <form className="form" onSubmit={submit} noValidate>
      <Field
        label={t.name}
        value={name}
        maxLength={100}
        autoFocus
        error={
          name ? (begin.error ? describeError(begin.error).message : undefined) : t.nameMissing
        }
        onChange={(e) => setName(e.target.value)}
      />
      <span className="row">
        <Button type="submit" look="ink" busy={begin.isPending && t.beginning}>
          {t.begin}
        </Button>
        <Button onClick={close}>{t.cancel}</Button>
      </span>
    </form>
  );
}

type ConfirmProps = {
  begun: Schemas["AuthenticatorBegun"];
  added: (made: Added) => void;
  close: () => void;
};

function Confirm({ begun, added, close }: ConfirmProps) {
  const [code, setCode] = useState("");
  const [missing, setMissing] = useState(false);
  const confirm = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/me/authenticators/{id}", {
          params: { path: { id: begun.id } },
          body: { code },
        }),
      ),
    onSuccess: added,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMissing(!code);
    if (code) confirm.mutate();
  };
  const refused = confirm.error ? describeError(confirm.error).message : undefined;
  return (
    <form className="form" onSubmit={submit} noValidate>
      <p>{t.scan}</p>
      <img src={begun.qr} alt={t.qr} width={200} height={200} className="qr" />
      <span className="row">
        <code className="mono s grow break-all" data-secret>
          {begun.secret}
        </code>
        <CopyButton text={begun.secret} what={t.secret} />
      </span>
      <Field
        label={t.code}
        mono
        name="code"
        autoComplete="one-time-code"
        inputMode="numeric"
        autoFocus
        value={code}
        error={missing ? t.codeMissing : refused}
        onChange={(e) => {
          setCode(e.target.value);
          setMissing(false);
        }}
      />
      <span className="row">
        <Button type="submit" look="ink" busy={confirm.isPending && t.confirming}>
          {t.confirm}
        </Button>
        <Button onClick={close}>{t.cancel}</Button>
      </span>
    </form>
  );
}
