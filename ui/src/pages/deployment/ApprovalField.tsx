import type { Question } from "@/api/client";
import { Field, Refusal } from "@/components/Field";
import { Select } from "@/components/Select";
import { approvalTexts } from "@/pages/deployment/approvalTexts";

const t = approvalTexts;

export type AskedField = Question["fields"][number];

type FieldProps = {
  field: AskedField;
  value: string | boolean;
  error?: string;
  off: boolean;
  onChange: (value: string | boolean) => void;
};

export function OneField({ field, value, error, off, onChange }: FieldProps) {
  const label = field.label || field.name;
  if (field.type === "boolean")
    return (
      <label className="row">
        <input
          type="checkbox"
          checked={value === true}
          disabled={off}
          onChange={(event) => onChange(event.target.checked)}
        />
        {label}
      </label>
    );
  if (field.type === "choice" && !off)
    return (
      <div className="field">
        <span className="lbl">{label}</span>
        <Select
          label={label}
          value={String(value) || null}
          placeholder={t.choose}
          options={(field.choices ?? []).map((choice) => ({ value: choice, label: choice }))}
          onChange={onChange}
        />
        {error ? <Refusal>{error}</Refusal> : null}
      </div>
    );
  return (
    <Field
      label={label}
      value={String(value)}
      error={error}
      disabled={off}
      inputMode={field.type === "number" ? "decimal" : undefined}
      hint={field.required ? t.required : undefined}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
