import { useId } from "react";
import type { InputField } from "../model/document";
import { ChoiceInput, LinesInput } from "./fields";
import { inputTexts as t } from "./inputTexts";
import type { InspectorPartProps } from "./inspectorProps";
import { Records, SmallInput } from "./records";

type Change = (next: Partial<InputField>) => void;
type FieldProps = { field: InputField; change: Change };
type Props = Pick<InspectorPartProps, "doc" | "problems" | "onChange">;

/** What the pipeline lets people set when they create a deployment. */
export default function InputSettings(props: Props) {
  const { input = [] } = props.doc;
  return (
    <Records<InputField>
      title={t.title}
      path="input"
      items={input}
      fresh={{ name: freeName(input), type: "string" }}
      addLabel={t.add}
      step={props}
      hint={t.hint}
      row={(field, change) => <One field={field} change={change} />}
    />
  );
}

function freeName(input: InputField[]): string {
  for (let i = 1; ; i++) {
    const name = `${t.fresh}-${i}`;
    if (!input.some((one) => one.name === name)) return name;
  }
}

function One({ field, change }: FieldProps) {
  const set = (name: "label" | "description") => (text: string) =>
    change({ [name]: text || undefined });
  return (
    <>
      <SmallInput label={t.name} value={field.name} onChange={(name) => change({ name })} />
      <SmallInput label={t.label} value={field.label ?? ""} onChange={set("label")} />
      <SmallInput
        label={t.description}
        value={field.description ?? ""}
        onChange={set("description")}
      />
      <ChoiceInput
        label={t.type}
        value={field.type}
        options={Object.entries(t.types).map(([value, label]) => ({ value, label }))}
        onChange={(type) => change({ ...withoutLimits, type: type as InputField["type"] })}
      />
      {field.type === "choice" ? <Choices field={field} change={change} /> : null}
      <Limits field={field} change={change} />
      <Default field={field} change={change} />
      <label className="row">
        <input
          type="checkbox"
          checked={field.required === true}
          onChange={(event) => change({ required: event.target.checked || undefined })}
        />
        {t.required}
      </label>
    </>
  );
}

/** Another type has other limits. */
const withoutLimits = {
  choices: undefined,
  default: undefined,
  min: undefined,
  max: undefined,
  min_length: undefined,
  max_length: undefined,
  pattern: undefined,
};

function Choices({ field, change }: FieldProps) {
  const id = useId();
  return (
    <div className="col">
      <label className="hint" htmlFor={id}>
        {t.choices}
      </label>
      <LinesInput id={id} value={field.choices} onChange={(choices) => change({ choices })} />
    </div>
  );
}

function Limits({ field, change }: FieldProps) {
  const numeric = isNumeric(field.type);
  const limits = numeric ? (["min", "max"] as const) : (["min_length", "max_length"] as const);
  if (!numeric && field.type !== "string") return null;
  return (
    <>
      {limits.map((name) => (
        <SmallInput
          key={name}
          label={t[name]}
          value={textOf(field[name])}
          onChange={(text) => change({ [name]: numberOf(text) })}
        />
      ))}
      {numeric ? null : (
        <SmallInput
          label={t.pattern}
          value={field.pattern ?? ""}
          onChange={(pattern) => change({ pattern: pattern || undefined })}
        />
      )}
    </>
  );
}

function Default({ field, change }: FieldProps) {
  const id = useId();
  const value = textOf(field.default);
  const set = (text: string) => change({ default: defaultOf(field.type, text) });
  if (field.type !== "boolean" && field.type !== "choice")
    return <SmallInput label={t.default} value={value} onChange={set} />;
  const options =
    field.type === "boolean"
      ? [
          { value: "true", label: t.yes },
          { value: "false", label: t.no },
        ]
      : (field.choices ?? []).map((one) => ({ value: one, label: one }));
  return (
    <div className="col">
      <label className="hint" htmlFor={id}>
        {t.default}
      </label>
      <ChoiceInput
        id={id}
        value={value}
        options={[{ value: "", label: t.noDefault }, ...options]}
        onChange={set}
      />
    </div>
  );
}

function isNumeric(type: InputField["type"]): boolean {
  return type === "integer" || type === "number";
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

/** What is no number yet stays text, which the server refuses with the field's name. */
function numberOf(text: string): number | undefined {
  if (text === "") return undefined;
  return (String(Number(text)) === text ? Number(text) : text) as number;
}

function defaultOf(type: InputField["type"], text: string): unknown {
  if (text === "") return undefined;
  if (type === "boolean") return text === "true";
  return isNumeric(type) ? numberOf(text) : text;
}
