import type { Schemas } from "@/api/client";
import { inputTexts as t } from "./inputTexts";

type CloneSheet = Schemas["CloneSheet"];
export type InputField = Schemas["InputField"];
export type InputValues = Record<string, unknown>;
/** What was typed, by field; a yes or no is "true" or "false". */
export type TypedInput = Record<string, string>;

/** The values a sheet begins with: those of a clone's source, or of a template. */
export function initialInput(clone?: CloneSheet, template?: Schemas["Template"]): InputValues {
  const cloned = (clone?.input ?? []).filter((one) => one.choice !== undefined && !one.problem);
  return {
    ...Object.fromEntries(cloned.map((one) => [one.name, one.choice])),
    ...template?.input,
  };
}

/** What stands in a field; a default stands there only where one chooses. */
export function textIn(field: InputField, typed: TypedInput, begun: InputValues): string {
  const chosen = field.type === "choice" || field.type === "boolean";
  return typed[field.name] ?? textOf(begun[field.name] ?? (chosen ? field.default : undefined));
}

export function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

/** What is sent. What nobody set is left out, so that the pipeline's default counts. */
export function inputBody(
  fields: InputField[],
  typed: TypedInput,
  begun: InputValues,
): InputValues | undefined {
  const set = fields.flatMap((field) => {
    const text = typed[field.name] ?? textOf(begun[field.name]);
    return text === "" ? [] : [[field.name, typedValue(field, text)] as const];
  });
  return set.length > 0 ? Object.fromEntries(set) : undefined;
}

/** What is no number is sent as it is: the refusal stands at the field then. */
function typedValue({ type }: InputField, text: string): unknown {
  if (type === "boolean") return text === "true";
  const number = Number(text);
  const numeric = type === "integer" || type === "number";
  return numeric && text.trim() !== "" && Number.isFinite(number) ? number : text;
}

/** Required fields that nobody filled in, and what the sheet says of each. */
export function missingInput(
  fields: InputField[],
  body: InputValues | undefined,
): Record<string, string> {
  const missing = fields.filter(
    (one) => one.required && one.default === undefined && body?.[one.name] === undefined,
  );
  return Object.fromEntries(missing.map((one) => [one.name, t.missing(one.label || one.name)]));
}
