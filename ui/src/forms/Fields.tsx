import { createContext, type ReactNode, useContext, useId, useLayoutEffect } from "react";
import { Field, Refusal } from "@/components/Field";
import { formTexts as t } from "@/forms/formTexts";
import { type Source, UnreadSource } from "./UnreadSource";
import type { FieldLabel, Form } from "./useForm";

// biome-ignore lint/suspicious/noExplicitAny: a field does not care what else its form holds.
type AnyForm = Form<any>;
type Common = { form: AnyForm; name: string; label: string; hint?: ReactNode };

/** Whether this user may only read the fields inside. */
export const ReadOnly = createContext(false);

/**
 * Registers a field's label with the form, so that a conflict can name it. Every field here does.
 */
export function useFieldLabel(form: AnyForm, name: string, label: string, say?: FieldLabel["say"]) {
  useLayoutEffect(() => {
    form.known.set(name, { label, say });
  });
}

type TextProps = Common & {
  mono?: boolean;
  type?: "text" | "password" | "number" | "datetime-local";
  placeholder?: string;
  maxLength?: number;
  /** What password managers may fill in: without it, a new password or nothing. */
  autoComplete?: string;
  /** Said after the label: the field may stay empty. */
  optional?: boolean;
  after?: ReactNode;
};

/** One line of text (or a number, kept as text until it is saved). */
export function TextField({
  form,
  name,
  label,
  hint,
  type,
  optional,
  autoComplete = type === "password" ? "new-password" : "off",
  ...more
}: TextProps) {
  const locked = useContext(ReadOnly);
  useFieldLabel(form, name, label);
  return (
    <Field
      {...more}
      label={optional ? `${label} (${t.optional})` : label}
      type={type === "number" ? "text" : type}
      inputMode={type === "number" ? "numeric" : undefined}
      autoComplete={autoComplete}
      spellCheck={false}
      locked={locked}
      readOnly={form.busy}
      value={String(form.values[name] ?? "")}
      error={form.errors[name]}
      hint={hint}
      onChange={(event) => form.set({ [name]: event.target.value })}
    />
  );
}

/** Several lines: a description, JSON, one pattern a line. */
export function TextArea({
  form,
  name,
  label,
  hint,
  mono,
  rows = 4,
  optional,
}: Common & { mono?: boolean; rows?: number; optional?: boolean }) {
  const id = useId();
  const locked = useContext(ReadOnly);
  useFieldLabel(form, name, label);
  const error = form.errors[name];
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {optional ? `${label} (${t.optional})` : label}
      </label>
      <textarea
        id={id}
        className={`area ${mono ? "mono" : ""} ${error ? "err" : ""}`}
        rows={rows}
        spellCheck={false}
        readOnly={locked || form.busy}
        data-locked={locked || undefined}
        value={String(form.values[name] ?? "")}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-more` : undefined}
        onChange={(event) => form.set({ [name]: event.target.value })}
      />
      <div id={`${id}-more`}>
        {error ? <Refusal>{error}</Refusal> : hint ? <div className="hint">{hint}</div> : null}
      </div>
    </div>
  );
}

/** A check box with a sentence on what it does. */
export function CheckField({ form, name, label, hint }: Common) {
  const id = useId();
  const locked = useContext(ReadOnly);
  useFieldLabel(form, name, label);
  return (
    <div className="field">
      <div className="ck">
        <input
          id={id}
          type="checkbox"
          disabled={locked}
          checked={form.values[name] === true}
          aria-describedby={hint ? `${id}-more` : undefined}
          onChange={(event) => form.set({ [name]: event.target.checked })}
        />
        <label htmlFor={id}>{label}</label>
      </div>
      {hint ? (
        <div className="hint pl-6" id={`${id}-more`}>
          {hint}
        </div>
      ) : null}
      {form.errors[name] ? <Refusal>{form.errors[name]}</Refusal> : null}
    </div>
  );
}

type Choice = { value: string; label: string };

const labelOf = (options: Choice[], value: unknown, placeholder?: string) =>
  options.find((one) => one.value === value)?.label ?? (String(value ?? "") || (placeholder ?? ""));

/** One of a few; a native select, which a phone opens as its own. */
export function SelectField({
  form,
  name,
  label,
  hint,
  options,
  placeholder,
  source,
}: Common & { options: Choice[]; placeholder?: string; source?: Source }) {
  const id = useId();
  const locked = useContext(ReadOnly);
  useFieldLabel(form, name, label, (value) => labelOf(options, value, placeholder));
  const error = form.errors[name];
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className={`pick ${error ? "err" : ""}`}
        disabled={locked}
        value={String(form.values[name] ?? "")}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-more` : undefined}
        onChange={(event) => form.set({ [name]: event.target.value })}
      >
        {placeholder ? <option value="">{placeholder}</option> : null}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <div id={`${id}-more`}>
        {error ? <Refusal>{error}</Refusal> : hint ? <div className="hint">{hint}</div> : null}
      </div>
      {source ? <UnreadSource {...source} /> : null}
    </div>
  );
}
