import { useEffect, useId, useState } from "react";
import { Field, Refusal } from "@/components/Field";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import type { SignIn, Wrong } from "./sshForm";

const t = nodeTexts.ssh;
const m = machineTexts.ssh;

type Fields = { values: SignIn; wrong: Wrong; set: (change: Partial<SignIn>) => void };
type Text = { [K in keyof SignIn]: SignIn[K] extends string ? K : never }[keyof SignIn];

type LineProps = Fields & {
  name: Text;
  label: string;
  hint?: string;
  type?: "password";
  digits?: boolean;
};

function Line({ values, wrong, set, name, label, hint, type, digits }: LineProps) {
  return (
    <Field
      label={label}
      hint={hint}
      type={type}
      mono={!type}
      spellCheck={false}
      inputMode={digits ? "numeric" : undefined}
      value={values[name]}
      error={wrong[name]}
      onChange={(event) => set({ [name]: event.target.value })}
    />
  );
}

/** Which machine, and as whom. */
export function Reach(fields: Fields) {
  return (
    <>
      <Line {...fields} name="host" label={t.host} />
      <Line {...fields} name="port" label={t.port} digits />
      <Line {...fields} name="user" label={t.user} hint={t.userHint} />
    </>
  );
}

/** A password, or a key with its passphrase. */
export function Credential(fields: Fields) {
  return (
    <>
      <Line {...fields} name="password" label={t.password} hint={t.secretHint} type="password" />
      <Key {...fields} />
      {fields.values.key ? (
        <Line {...fields} name="passphrase" label={m.passphrase} type="password" />
      ) : null}
    </>
  );
}

function Key({ values, wrong, set }: Fields) {
  const id = useId();
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {t.key}
      </label>
      <textarea
        id={id}
        className={`area mono ${wrong.key ? "err" : ""}`}
        rows={4}
        spellCheck={false}
        value={values.key}
        aria-invalid={wrong.key ? true : undefined}
        aria-describedby={wrong.key ? `${id}-more` : undefined}
        onChange={(event) => set({ key: event.target.value })}
      />
      <div id={`${id}-more`}>{wrong.key ? <Refusal>{wrong.key}</Refusal> : null}</div>
    </div>
  );
}

const PLACES = ["directory", "data", "run", "docker", "subnets"] as const;

/** Docker, and where the agent and what it keeps go on the machine. Unfolded once something there is wrong. */
export function Advanced(fields: Fields) {
  const { values, wrong, set } = fields;
  const [open, setOpen] = useState(false);
  const hidden = PLACES.some((name) => wrong[name]);
  useEffect(() => {
    if (hidden) setOpen(true);
  }, [hidden]);
  return (
    <>
      <label className="ck">
        <input
          type="checkbox"
          checked={values.install}
          onChange={(event) => set({ install: event.target.checked })}
        />
        {t.installDocker}
      </label>
      <details className="fold" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{m.advanced}</summary>
        <div className="col gap-3 pt-2">
          <p className="hint">{m.advancedHint}</p>
          {PLACES.map((name) => (
            <Line key={name} {...fields} name={name} {...m.places[name]} />
          ))}
        </div>
      </details>
    </>
  );
}
