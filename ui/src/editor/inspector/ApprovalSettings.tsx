import { useId } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Step } from "../model/document";
import { referenceOptions } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { ChoiceInput, LinesInput, Shell } from "./fields";
import { Records, SmallInput, type StepFormProps } from "./records";
import { NumberInput, TextInput } from "./TextInput";

const t = editorTexts.step;

export function ApprovalSettings(props: StepFormProps) {
  const { step, doc, catalogue, problems, onChange } = props;
  const { approval } = step;
  return (
    <>
      <Shell
        label={t.prompt}
        path="approval.prompt"
        hint={t.promptHint}
        required
        problems={problems}
        offers={() => referenceOptions(doc, catalogue, step, "any", "approval.prompt")}
        onRefer={(ref, at) =>
          onChange("approval.prompt", insertReference(approval?.prompt ?? "", ref, at))
        }
      >
        {(id, described, wrong) => (
          <TextInput
            id={id}
            described={described}
            wrong={wrong}
            label={t.prompt}
            rows={3}
            value={approval?.prompt ?? ""}
            onChange={(text) => onChange("approval.prompt", text ?? "")}
          />
        )}
      </Shell>
      <Fields {...props} />
      {(["teams", "users"] as const).map((who) => (
        <Shell
          key={who}
          label={t[who]}
          path={`approval.${who}`}
          hint={t.answerHint}
          problems={problems}
        >
          {(id, described) => (
            <LinesInput
              id={id}
              described={described}
              value={approval?.[who]}
              onChange={(next) => onChange(`approval.${who}`, next)}
            />
          )}
        </Shell>
      ))}
      <Shell label={t.timeout} path="approval.timeout_seconds" problems={problems}>
        {(id, described, wrong) => (
          <NumberInput
            id={id}
            described={described}
            wrong={wrong}
            label={t.timeout}
            placeholder="86400"
            value={approval?.timeout_seconds}
            onChange={(next) => onChange("approval.timeout_seconds", next)}
          />
        )}
      </Shell>
    </>
  );
}

type Field = NonNullable<NonNullable<Step["approval"]>["fields"]>[number];
type Change = (next: Partial<Field>) => void;

/** What is asked besides yes or no; later steps can refer to the answers. */
function Fields(props: StepFormProps) {
  return (
    <Records<Field>
      title={t.fields}
      path="approval.fields"
      items={props.step.approval?.fields}
      fresh={{ name: "answer-1", type: "string" }}
      addLabel={t.addField}
      step={props}
      hint={t.fieldsHint}
      row={(field, change) => <One field={field} change={change} />}
    />
  );
}

function One({ field, change }: { field: Field; change: Change }) {
  return (
    <>
      <SmallInput label={t.fieldName} value={field.name} onChange={(name) => change({ name })} />
      <SmallInput
        label={t.fieldLabel}
        value={field.label ?? ""}
        onChange={(label) => change({ label: label || undefined })}
      />
      <ChoiceInput
        label={t.fieldType}
        value={field.type}
        options={Object.entries(t.fieldTypes).map(([value, label]) => ({ value, label }))}
        onChange={(type) =>
          change({ type: type as Field["type"], choices: undefined, default: undefined })
        }
      />
      {field.type === "choice" ? <Choices field={field} change={change} /> : null}
      <Standard field={field} change={change} />
      <label className="row s">
        <input
          type="checkbox"
          checked={field.required ?? false}
          onChange={(event) => change({ required: event.target.checked || undefined })}
        />
        {t.fieldRequired}
      </label>
    </>
  );
}

function Choices({ field, change }: { field: Field; change: Change }) {
  const id = useId();
  return (
    <div className="col">
      <label className="hint" htmlFor={id}>
        {t.fieldChoices}
      </label>
      <LinesInput id={id} value={field.choices} onChange={(choices) => change({ choices })} />
    </div>
  );
}

/** What stands in the field before anybody answers: a value of the field's own type. */
function Standard({ field, change }: { field: Field; change: Change }) {
  const id = useId();
  const chosen = field.type === "boolean" ? ["true", "false"] : field.choices;
  const set = (text: string) => change({ default: standardOf(field.type, text) });
  const value = field.default === undefined ? "" : String(field.default);
  if (field.type !== "boolean" && field.type !== "choice")
    return <SmallInput label={t.fieldDefault} value={value} onChange={set} />;
  const label = (one: string) => (field.type === "boolean" ? (one === "true" ? t.yes : t.no) : one);
  return (
    <div className="col">
      <label className="hint" htmlFor={id}>
        {t.fieldDefault}
      </label>
      <ChoiceInput
        id={id}
        value={value}
        options={[
          { value: "", label: t.fieldNoDefault },
          ...(chosen ?? []).map((one) => ({ value: one, label: label(one) })),
        ]}
        onChange={set}
      />
    </div>
  );
}

/** A number that is still being typed stays text, and is refused as such. */
function standardOf(type: Field["type"], text: string): unknown {
  if (text === "") return undefined;
  if (type === "boolean") return text === "true";
  return type === "number" && String(Number(text)) === text ? Number(text) : text;
}
