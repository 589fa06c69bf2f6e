import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { useToast } from "@/components/Toast";
import { DeleteButton } from "@/forms/DeleteButton";
import { SelectField, TextField, useFieldLabel } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { onlyProblems, toNumber } from "@/forms/formValues";
import { type Form, useForm } from "@/forms/useForm";
import { useWhileShown } from "@/forms/useWhileShown";
import { secretTexts as t } from "@/pages/catalogTexts";

type Secret = Schemas["Secret"];
type Props = { project: string; stored?: Secret; taken: string[]; close: () => void };

function sourceOf(stored?: Secret): string {
  if (stored?.vault) return "vault";
  return stored?.generated ? "generated" : "typed";
}

const start = (stored?: Secret) => ({
  name: stored?.name ?? "",
  how: sourceOf(stored),
  // Named as the API names them, so that its refusals are shown there.
  "vault.path": stored?.vault?.path ?? "",
  "vault.field": stored?.vault?.field ?? "",
  value: "",
  by: stored?.generate?.pattern ? "pattern" : "length",
  length: String(stored?.generate?.length ?? 32),
  alphabet: stored?.generate?.alphabet ?? "alphanumeric",
  pattern: stored?.generate?.pattern ?? "",
});
type Values = ReturnType<typeof start>;

const NAME = /^[A-Z][A-Z0-9_]{0,62}$/;

function nameProblem(name: string, taken: string[]): string | undefined {
  if (name === "") return t.nameMissing;
  if (!NAME.test(name)) return t.nameWrong;
  return taken.includes(name) ? t.nameTaken(name) : undefined;
}

function problems(values: Values, taken?: string[]) {
  const { how } = values;
  const length = toNumber(values.length) ?? 0;
  return onlyProblems({
    name: taken ? nameProblem(values.name, taken) : undefined,
    value: how === "typed" && values.value === "" ? t.valueMissing : undefined,
    "vault.path": how === "vault" && values["vault.path"] === "" ? t.pathMissing : undefined,
    "vault.field": how === "vault" && values["vault.field"] === "" ? t.fieldMissing : undefined,
    length:
      how === "generated" && values.by === "length" && !(length >= 12 && length <= 128)
        ? t.lengthWrong
        : undefined,
    pattern:
      how === "generated" && values.by === "pattern" && !values.pattern
        ? t.patternMissing
        : undefined,
  });
}

function bodyOf(values: Values): Schemas["SecretPut"] {
  if (values.how === "typed") return { value: values.value };
  if (values.how === "vault")
    return { vault: { path: values["vault.path"], field: values["vault.field"] } };
  if (values.by === "pattern") return { generate: { pattern: values.pattern } };
  return { generate: { length: toNumber(values.length), alphabet: values.alphabet } };
}

/** Sets a secret. What was set before is never shown, only replaced. */
export function SecretSheet({ project, stored, taken, close }: Props) {
  const cache = useQueryClient();
  const say = useToast();
  const leave = useWhileShown(close);
  const refresh = () => void cache.invalidateQueries({ queryKey: ["project", project, "secrets"] });
  const form = useForm(start(stored), {
    check: (values) => problems(values, stored ? undefined : taken),
    save: (values) =>
      ask(
        client.PUT("/api/v1/projects/{name}/secrets/{secret}", {
          params: { path: { name: project, secret: values.name } },
          body: bodyOf(values),
        }),
      ),
    saved: ({ changed, secret }) => {
      refresh();
      say("done", changed ? t.saved(secret.name, secret.version) : t.unchanged(secret.name));
      leave();
    },
  });
  const remove = () =>
    ask(
      client.DELETE("/api/v1/projects/{name}/secrets/{secret}", {
        params: { path: { name: project, secret: stored?.name ?? "" } },
      }),
    );
  const done = () => {
    refresh();
    leave();
  };
  return (
    <FormSheet
      title={stored ? t.editTitle(stored.name) : t.addTitle}
      named={stored?.name}
      form={form}
      onClose={close}
      extra={
        stored ? (
          <DeleteButton name={stored.name} remove={remove} done={done}>
            <p>{t.delete}</p>
          </DeleteButton>
        ) : null
      }
    >
      {stored ? null : (
        <TextField form={form} name="name" label={t.name} mono hint={t.nameHint} maxLength={63} />
      )}
      <SelectField
        form={form}
        name="how"
        label={t.how}
        options={[
          { value: "typed", label: t.typed },
          { value: "generated", label: t.generated },
          { value: "vault", label: t.vault },
        ]}
      />
      {form.values.how === "typed" ? <Typed form={form} /> : null}
      {form.values.how === "generated" ? <Generated form={form} /> : null}
      {form.values.how === "vault" ? (
        <>
          <TextField form={form} name="vault.path" label={t.path} mono hint={t.pathHint} />
          <TextField form={form} name="vault.field" label={t.field} mono />
        </>
      ) : null}
      {stored ? <p className="hint">{t.lasts}</p> : null}
    </FormSheet>
  );
}

/** A text of any number of lines, a key in PEM among them: what is pasted is what is stored. */
function Typed({ form }: { form: Form<Values> }) {
  const id = useId();
  const [shown, setShown] = useState(false);
  const error = form.errors.value;
  useFieldLabel(form, "value", t.value);
  return (
    <div className="field">
      <span className="row">
        <label className="lbl grow" htmlFor={id}>
          {t.value}
        </label>
        <Button act={shown ? t.hide : t.show} small look="ghost" onClick={() => setShown(!shown)}>
          {shown ? t.hide : t.show}
        </Button>
      </span>
      <textarea
        id={id}
        className={`area mono ${shown ? "" : "masked"} ${error ? "err" : ""}`}
        rows={4}
        autoComplete="off"
        spellCheck={false}
        readOnly={form.busy}
        value={form.values.value}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-more`}
        onChange={(event) => form.set({ value: event.target.value })}
      />
      <div id={`${id}-more`}>
        {error ? (
          <Refusal>{error}</Refusal>
        ) : (
          <div className="hint">{valueHint(form.values.value)}</div>
        )}
      </div>
    </div>
  );
}

/** A masked text does not show where it ends: how many lines it has is said. */
function valueHint(value: string): string {
  const lines = value.replace(/\n$/, "").split("\n").length;
  return lines > 1 ? `${t.valueLines(lines)} ${t.valueHint}` : t.valueHint;
}

function Generated({ form }: { form: Form<Values> }) {
  const ways = [
    { value: "length", label: t.byLength },
    { value: "pattern", label: t.byPattern },
  ];
  const alphabets = Object.entries(t.alphabets).map(([value, label]) => ({ value, label }));
  return (
    <>
      <SelectField form={form} name="by" label={t.generateBy} options={ways} />
      {form.values.by === "pattern" ? (
        <TextField form={form} name="pattern" label={t.pattern} mono hint={t.patternHint} />
      ) : (
        <>
          <TextField form={form} name="length" type="number" label={t.length} />
          <SelectField form={form} name="alphabet" label={t.alphabet} options={alphabets} />
        </>
      )}
    </>
  );
}
