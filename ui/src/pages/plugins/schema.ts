import { pluginTexts as t } from "@/catalogTexts";

// JSON Schema of a plugin's parameters, as a person types it: what is wrong, and what form it gives.

export type FormField = {
  name: string;
  type: string;
  title?: string;
  description?: string;
  required: boolean;
  fallback?: string;
  choices?: string;
};

type Json = Record<string, unknown>;
export type Read = { value?: Json; wrong?: string };

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];

/** The object a text holds; an empty text is no object and no fault. */
export function readJson(text: string): Read {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { value };
    return { wrong: t.jsonObject };
  } catch (error) {
    return { wrong: where(text, error instanceof Error ? error.message : "") };
  }
}

/** The browser's message begins with what it met and ends with where; people want line and column. */
function where(text: string, message: string): string {
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
  const before = text.slice(0, position).split("\n");
  const why = message.replace(/ (in JSON )?at position.*$/s, "").replace(/ in JSON$/, "");
  return t.jsonAt(before.length, (before.at(-1)?.length ?? 0) + 1, why);
}

/** As readJson, and judged as a schema of parameters. */
export function readSchema(text: string): Read {
  const read = readJson(text);
  const wrong = read.wrong ?? (read.value && schemaProblem(read.value));
  return wrong ? { ...read, wrong } : read;
}

function schemaProblem(schema: Json): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) return t.schemaProperty(name);
    const types = [property.type ?? []].flat();
    if (types.some((type) => !TYPES.includes(String(type)))) return t.schemaType(name);
    if ("default" in property && types.length > 0 && !fits(property.default, types.map(String)))
      return t.schemaDefault(name);
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  const stray = required.find((name) => !(String(name) in properties));
  return stray === undefined ? undefined : t.schemaRequired(String(stray));
}

function fits(value: unknown, types: string[]): boolean {
  return types.some((type) => {
    if (type === "null") return value === null;
    if (type === "integer") return Number.isInteger(value);
    if (type === "array") return Array.isArray(value);
    if (type === "object") return isObject(value);
    return typeof value === type;
  });
}

/** The fields that a form of this schema has, in its order. */
export function formFields(schema: Json | undefined): FormField[] {
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const required = Array.isArray(schema?.required) ? schema.required.map(String) : [];
  return Object.entries(properties)
    .filter((entry): entry is [string, Json] => isObject(entry[1]))
    .map(([name, property]) => ({
      name,
      type: [property.type ?? "any"].flat().join(", "),
      title: text(property.title),
      description: text(property.description),
      required: required.includes(name),
      fallback: "default" in property ? JSON.stringify(property.default) : undefined,
      choices: Array.isArray(property.enum)
        ? property.enum.map((one) => JSON.stringify(one)).join(", ")
        : undefined,
    }));
}

const text = (value: unknown) => (typeof value === "string" ? value : undefined);

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
