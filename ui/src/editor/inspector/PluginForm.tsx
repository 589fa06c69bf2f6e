import { useMemo, useState, useSyncExternalStore } from "react";
import { editorTexts } from "@/editor/editorTexts";
import { type PortType, parametersOf, typeOf } from "../model/catalogue";
import { checkParameters, ROOT, resolveProperty } from "../model/checkParameters";
import { isAt, type Problem } from "../model/problems";
import type { ReferenceOption } from "../model/referenceOptions";
import { insertReference } from "../model/references";
import { UnparsedInputs, unparsedProblem } from "../session/unparsedInputs";
import { entriesKind, ListEntries, NamedEntries } from "./entries";
import { ChoiceInput, FieldProblems, Shell } from "./fields";
import { JsonInput, type UnparsedOf } from "./JsonInput";
import { NumberInput, TextInput } from "./TextInput";

const t = editorTexts.step;

export type FormProps = {
  schema: Record<string, unknown> | undefined;
  values: Record<string, unknown>;
  problems: Problem[];
  offersFor: (type: PortType, path: string) => ReferenceOption[];
  onChange: (path: string, value: unknown) => void;
  /** Where what cannot be read yet is held; the form's own where it holds one thing alone. */
  unread?: UnparsedOf;
};

/**
 * A plugin's parameters as its JSON Schema describes them. Each field also takes a reference in place
 * of a value, which no form generator knows of. The validator interprets schemas and needs no eval.
 */
export default function PluginForm({ schema, values, problems, offersFor, ...props }: FormProps) {
  const { onChange } = props;
  const [own] = useState(() => ({ of: new UnparsedInputs(), step: "" }));
  const unread = props.unread ?? own;
  const held = useSyncExternalStore(own.of.subscribe, own.of.get);
  const required = (schema?.required ?? []) as string[];
  const found = useMemo(() => checkParameters(schema, values), [schema, values]);
  const declared = parametersOf(schema);
  if (declared.length === 0) return <p className="t3 s">{t.noParameters}</p>;
  const others = [...problems, ...found].filter(
    ({ field }) => isAt(field, ROOT) && !declared.some(([name]) => isAt(field, `${ROOT}.${name}`)),
  );
  const fields = declared.map(([name, raw]) => {
    const property = resolveProperty(schema, raw);
    const path = `${ROOT}.${name}`;
    const said = problems.some((one) => isAt(one.field, path));
    const checked = said ? [] : found.filter((one) => isAt(one.field, path));
    return (
      <Parameter
        key={name}
        name={name}
        path={path}
        property={property}
        value={values[name]}
        required={required.includes(name)}
        problems={[...problems, ...held.map(unparsedProblem), ...checked]}
        offers={() => offersFor(typeOf(property), path)}
        unread={unread}
        onChange={(value) => onChange(path, value)}
      />
    );
  });
  return (
    <>
      <FieldProblems problems={others} />
      {fields}
    </>
  );
}

type ParameterProps = {
  name: string;
  path: string;
  property: Record<string, unknown>;
  value: unknown;
  required: boolean;
  problems: Problem[];
  offers: () => ReferenceOption[];
  unread: UnparsedOf;
  onChange: (value: unknown) => void;
};

/** Whether what is chosen goes into the text that is there; a function always does. */
function takesChoice(type: PortType, value: unknown, chosen: string): value is string {
  return typeof value === "string" && (type === "text" || !chosen.includes("{{"));
}

/** What a field has while it is empty; of an empty text there is nothing to show. */
function sayDefault(value: unknown): string | undefined {
  return value === undefined || value === "" ? undefined : JSON.stringify(value);
}

function Parameter({ name, path, property, value, ...rest }: ParameterProps) {
  const type = typeOf(property);
  const label = typeof property.title === "string" ? property.title : name;
  const hint = typeof property.description === "string" ? property.description : undefined;
  const standard = sayDefault(property.default);
  const refers = typeof value === "string" && value.includes("${{");
  // A field with a reference in it is text until it is left, though the reference is deleted.
  const [held, setHeld] = useState(false);
  return (
    <Shell
      label={label}
      path={path}
      type={type}
      hint={hint}
      required={rest.required}
      problems={rest.problems}
      offers={rest.offers}
      onRefer={(ref, at) =>
        rest.onChange(takesChoice(type, value, ref) ? insertReference(value, ref, at) : ref)
      }
    >
      {(id, described, wrong) => {
        const common = { id, described, wrong, label, placeholder: standard };
        const options = Array.isArray(property.enum) ? property.enum : undefined;
        // What could be typed on as a reference stays the field it is typed in.
        if (type === "number" && !options)
          return <NumberInput {...common} value={value} onChange={rest.onChange} />;
        if ((refers || held) && (options || type !== "text"))
          return (
            <TextInput {...common} mono value={value} onChange={rest.onChange} onTyping={setHeld} />
          );
        if (options)
          return (
            <ChoiceInput
              {...common}
              value={value === undefined ? "" : JSON.stringify(value)}
              options={[
                { value: "", label: standard ?? t.unset },
                ...options.map((one) => ({ value: JSON.stringify(one), label: String(one) })),
              ]}
              onChange={(next) => rest.onChange(next === "" ? undefined : JSON.parse(next))}
            />
          );
        if (type === "bool")
          return (
            <ChoiceInput
              {...common}
              value={value === undefined ? "" : String(value)}
              options={[
                { value: "", label: standard ?? t.unset },
                { value: "true", label: t.yes },
                { value: "false", label: t.no },
              ]}
              onChange={(next) => rest.onChange(next === "" ? undefined : next === "true")}
            />
          );
        const entries = entriesKind(property, value);
        const Entries = entries === "list" ? ListEntries : NamedEntries;
        if (entries)
          return (
            <Entries
              id={id}
              label={label}
              schema={property}
              value={value}
              onChange={rest.onChange}
            />
          );
        if (type === "object" || type === "any")
          return (
            <JsonInput
              {...common}
              path={path}
              value={value}
              unread={rest.unread}
              onChange={rest.onChange}
            />
          );
        const long = property.format === "multiline" || /script|sql|body|content/i.test(name);
        return (
          <TextInput
            {...common}
            mono={long}
            rows={long ? 4 : 1}
            value={value}
            onChange={rest.onChange}
          />
        );
      }}
    </Shell>
  );
}
