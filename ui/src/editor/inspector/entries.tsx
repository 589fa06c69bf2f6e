import { Plus } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import { properties, typeOf } from "../model/catalogue";
import { ChoiceInput } from "./fields";
import { RemoveButton, SmallInput } from "./records";

const t = editorTexts.step;

type Schema = Record<string, unknown>;
type Values = Record<string, unknown>;

/** Whether a value is a list of single values, or single values by name: those need no JSON. */
export function entriesKind(schema: Schema, value: unknown): "list" | "names" | undefined {
  if (schema.type === "array") return isListed(schema.items, value) ? "list" : undefined;
  if (schema.type !== "object" || !isNamed(value)) return undefined;
  const declared = properties(schema);
  const flat = declared.every(([, one]) => isSingle(one));
  const more = schema.additionalProperties;
  return flat && (declared.length > 0 || isSingle(more)) ? "names" : undefined;
}

function isListed(items: unknown, value: unknown): boolean {
  return isSingle(items) && (value === undefined || (Array.isArray(value) && value.every(isValue)));
}

function isNamed(value: unknown): boolean {
  if (value === undefined) return true;
  return typeof value === "object" && value !== null && Object.values(value).every(isValue);
}

function isSingle(schema: unknown): schema is Schema {
  const given = schema && typeof schema === "object" ? (schema as Schema) : {};
  return ["string", "number", "integer", "boolean"].includes(String(given.type));
}

function isValue(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

type EntriesProps = {
  id: string;
  label: string;
  schema: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
};

export function ListEntries({ id, label, schema, value, onChange }: EntriesProps) {
  const items = (value ?? []) as unknown[];
  const of = schema.items as Schema;
  const set = (next: unknown[]) => onChange(next.length > 0 ? next : undefined);
  return (
    <div className="recs">
      {items.map((item, i) => (
        <Row key={i} what={t.entry(label, i + 1)} onRemove={() => set(items.toSpliced(i, 1))}>
          <Entry
            id={i === 0 ? id : undefined}
            label={t.entry(label, i + 1)}
            schema={of}
            value={item}
            onChange={(next) => set(items.with(i, next ?? emptyOf(of)))}
          />
        </Row>
      ))}
      <Button small className="self-start" onClick={() => set([...items, emptyOf(of)])}>
        <Plus className="i sm" aria-hidden="true" /> {t.addEntry}
      </Button>
    </div>
  );
}

/** The names that are declared, and where others may be given, those. */
export function NamedEntries({ label, schema, value, onChange }: EntriesProps) {
  const values = (value ?? {}) as Values;
  const declared = properties(schema);
  const known = new Set(declared.map(([name]) => name));
  const more = schema.additionalProperties;
  const of: Schema = isSingle(more) ? more : { type: "string" };
  const set = (name: string, next: unknown) => {
    const { [name]: _, ...rest } = values;
    const all = next === undefined ? rest : { ...values, [name]: next };
    onChange(Object.keys(all).length > 0 ? all : undefined);
  };
  const others = Object.keys(values).filter((name) => !known.has(name));
  return (
    <div className="recs">
      {declared.map(([name, one]) => (
        <div key={name} className="col">
          <span className="hint">{name}</span>
          <Entry
            label={t.entry(label, name)}
            schema={one}
            value={values[name]}
            onChange={(next) => set(name, next)}
          />
        </div>
      ))}
      {others.map((name) => (
        <Row key={name} what={t.entry(label, name)} onRemove={() => set(name, undefined)}>
          <span className="hint mono tr">{name}</span>
          <Entry
            label={t.entry(label, name)}
            schema={of}
            value={values[name]}
            onChange={(next) => set(name, next ?? emptyOf(of))}
          />
        </Row>
      ))}
      {more === false ? null : (
        <NewName
          label={label}
          taken={(name) => name in values || known.has(name)}
          add={(name) => set(name, emptyOf(of))}
        />
      )}
    </div>
  );
}

type NewNameProps = {
  label: string;
  taken: (name: string) => boolean;
  add: (name: string) => void;
};

function NewName({ label, taken, add }: NewNameProps) {
  const [name, setName] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const why = taken(name) ? t.entryNameTaken : undefined;
  const take = () => {
    if (name === "") field.current?.focus();
    if (name === "" || why) return;
    add(name);
    setName("");
  };
  return (
    <div className="row">
      <div className="grow">
        <SmallInput
          ref={field}
          label={t.entryName(label)}
          placeholder={t.entryNameShort}
          value={name}
          onChange={setName}
          onEnter={take}
        />
      </div>
      <Button small reason={why} onClick={take}>
        <Plus className="i sm" aria-hidden="true" /> {t.addEntry}
      </Button>
    </div>
  );
}

function Row(props: { what: string; onRemove: () => void; children: ReactNode }) {
  return (
    <div className="row top0">
      <div className="recs grow">{props.children}</div>
      <RemoveButton what={props.what} onRemove={props.onRemove} />
    </div>
  );
}

type EntryProps = {
  id?: string;
  label: string;
  schema: Schema;
  value: unknown;
  onChange: (value: unknown) => void;
};

function Entry({ id, label, schema, value, onChange }: EntryProps) {
  if (schema.type === "boolean")
    return (
      <ChoiceInput
        id={id}
        label={label}
        value={value === undefined ? "" : String(value)}
        options={[
          { value: "", label: t.unset },
          { value: "true", label: t.yes },
          { value: "false", label: t.no },
        ]}
        onChange={(next) => onChange(next === "" ? undefined : next === "true")}
      />
    );
  const set = (text: string) => onChange(text === "" ? undefined : parseEntry(schema, text));
  return <SmallInput id={id} label={label} value={String(value ?? "")} onChange={set} />;
}

/** A number that is still being typed stays text, and is refused as such. */
function parseEntry(schema: Schema, text: string): unknown {
  return typeOf(schema) === "number" && String(Number(text)) === text ? Number(text) : text;
}

function emptyOf(schema: Schema): unknown {
  return schema.type === "boolean" ? false : "";
}
