import type { Schemas } from "@/api/client";
import { Field, Refusal } from "@/components/Field";
import { Select } from "@/components/Select";
import { inputTexts as t } from "./inputTexts";
import { type InputField, type InputValues, type TypedInput, textIn, textOf } from "./inputValues";

type CloneSheet = Schemas["CloneSheet"];

type Props = {
  fields: InputField[];
  typed: TypedInput;
  begun: InputValues;
  /** By `input.NAME`, among the refusals of the other fields. */
  refused?: Record<string, string | undefined>;
  clone?: CloneSheet;
  set: (name: string, text: string) => void;
};

/** The fields that the pipeline declares, and what of a clone's source is not taken over. */
export function InputFields({ fields, typed, begun, refused, clone, set }: Props) {
  const removed = (clone?.input ?? []).filter((one) => one.state === "removed");
  if (fields.length + removed.length === 0) return null;
  const problemOf = ({ name }: InputField) => {
    const of = clone?.input?.find((one) => one.name === name);
    const open = typed[name] === undefined && begun[name] === undefined;
    return open && of?.source !== undefined && of.problem ? t.notCarried(of.problem) : undefined;
  };
  return (
    <section aria-label={t.title} className="flex flex-col gap-2">
      <h2>{t.title}</h2>
      {fields.map((field) => (
        <One
          key={field.name}
          field={field}
          value={textIn(field, typed, begun)}
          error={refused?.[`input.${field.name}`] ?? problemOf(field)}
          set={(text) => set(field.name, text)}
        />
      ))}
      {removed.map((one) => (
        <p key={one.name} className="s t2">
          {t.removed(one.name)}
        </p>
      ))}
    </section>
  );
}

type OneProps = {
  field: InputField;
  value: string;
  error?: string;
  set: (text: string) => void;
};

function One({ field, value, error, set }: OneProps) {
  const label = field.label || field.name;
  const hint = hintOf(field);
  const more = (
    <>
      {error ? <Refusal>{error}</Refusal> : null}
      {hint ? <div className="hint">{hint}</div> : null}
    </>
  );
  if (field.type === "boolean")
    return (
      <div className="field">
        <label className="row">
          <input
            type="checkbox"
            checked={value === "true"}
            onChange={(event) => set(String(event.target.checked))}
          />
          {label}
        </label>
        {more}
      </div>
    );
  if (field.type === "choice")
    return (
      <div className="field">
        <span className="lbl">{label}</span>
        <Select
          label={label}
          value={value || null}
          placeholder={t.choose}
          options={(field.choices ?? []).map((one) => ({ value: one, label: one }))}
          onChange={set}
        />
        {more}
      </div>
    );
  return (
    <Field
      label={label}
      value={value}
      error={error}
      hint={hint}
      inputMode={field.type === "string" ? undefined : "decimal"}
      onChange={(event) => set(event.target.value)}
    />
  );
}

function hintOf(field: InputField): string | undefined {
  const fills = field.type === "choice" || field.type === "boolean";
  const standard =
    field.default === undefined
      ? field.required && t.required
      : !fills && t.default(textOf(field.default));
  return [field.description, standard].filter(Boolean).join(" ") || undefined;
}
