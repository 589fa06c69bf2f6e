import { parametersOf } from "@/editor/model/catalogue";
import { pluginTexts as t } from "@/pages/catalogTexts";
import { isObject, type Json, schemaProblem } from "./schemaProblem";

// Parses the JSON Schema of a plugin's parameters while it is being typed.

export type Read = { value?: Json; wrong?: string };

/** The object a text holds; an empty text is no object and no fault. */
export function readJson(text: string): Read {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { value };
    return { wrong: t.jsonObject };
  } catch (error) {
    return { wrong: withPosition(text, error instanceof Error ? error.message : "") };
  }
}

/** The browser's message begins with what it met and ends with where; people want line and column. */
function withPosition(text: string, message: string): string {
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

/** How its form calls the fields, in the order in which they stand there. */
export const fieldTitles = (schema: Json | undefined): string[] =>
  parametersOf(schema).map(([name, { title }]) => (typeof title === "string" ? title : name));

/** The names of the fields that a form of this schema has, in its order. */
export const fieldNames = (schema: Json | undefined): string[] =>
  isObject(schema?.properties) ? Object.keys(schema.properties) : [];
