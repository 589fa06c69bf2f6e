import { type OutputUnit, Validator } from "@cfworker/json-schema";
import { schemaTexts } from "@/editor/model/schemaTexts";
import type { Problem } from "./problems";

const t = schemaTexts;
/** The field that all parameters are in. */
export const ROOT = "plugin.parameters";

type Schema = Record<string, unknown>;
type Values = Record<string, unknown>;

/** These keywords only report that a nested value is invalid, which has an error of its own. */
const AROUND = new Set(
  (
    "$ref $recursiveRef allOf if properties patternProperties additionalProperties " +
    "unevaluatedProperties dependentSchemas propertyNames prefixItems items additionalItems " +
    "unevaluatedItems"
  ).split(" "),
);
/** No alternative of these keywords matched; the errors of each alternative would only confuse. */
const WAYS = new Set(["anyOf", "oneOf", "not"]);

/**
 * Validates literal values against the schema, including its local $refs. A reference to a step or
 * secret has no value yet, so nothing that depends on it is validated.
 */
export function checkParameters(schema: Schema | undefined, values: Values): Problem[] {
  if (!schema) return [];
  const open = Object.keys(values).filter((key) => JSON.stringify(values[key])?.includes("${{"));
  const literal = Object.entries(values).filter(
    ([key, value]) => value !== undefined && !open.includes(key),
  );
  try {
    const { errors } = new Validator(schema, "2020-12", false).validate(
      Object.fromEntries(literal),
    );
    const said = leafErrors(errors, open.length > 0).filter((one) => !isOpen(one, open, schema));
    return uniqueProblems(said.map((one) => problemOf(one, schema)));
  } catch {
    // External references and invalid schemas are left to the server.
    return [];
  }
}

function leafErrors(errors: OutputUnit[], open: boolean): OutputUnit[] {
  const ways = errors.filter((one) => WAYS.has(one.keyword)).map((one) => one.keywordLocation);
  return errors
    .filter((one) => !AROUND.has(one.keyword))
    .filter((one) => !ways.some((way) => one.keywordLocation.startsWith(`${way}/`)))
    .filter((one) => !open || !dependsOnAll(one));
}

/** Whether the error depends on all values, some of which are not known yet. */
function dependsOnAll({ keyword, instanceLocation, keywordLocation }: OutputUnit): boolean {
  const whole = WAYS.has(keyword) && instanceLocation === "#";
  return whole || /\/(if|then|else|not|dependentSchemas)(\/|$)/.test(keywordLocation);
}

/**
 * Whether a missing property is given as a reference, has a default, or is reported by its field
 * already.
 */
function isOpen(one: OutputUnit, open: string[], schema: Schema): boolean {
  if (one.instanceLocation !== "#") return false;
  const missing = missingIn(one);
  if (missing === undefined) return false;
  const property = (schema.properties as Record<string, Schema> | undefined)?.[missing];
  const standard = property?.default !== undefined;
  return one.keywordLocation === "#/required" || standard || open.includes(missing);
}

function missingIn({ keyword, error }: OutputUnit): string | undefined {
  if (keyword === "required") return /property "(.*)"\.$/.exec(error)?.[1];
  return keyword === "dependentRequired" ? /does not have "(.*)"\.$/.exec(error)?.[1] : undefined;
}

function problemOf(one: OutputUnit, schema: Schema): Problem {
  const missing = missingIn(one);
  const at = fieldOf(one.instanceLocation);
  return {
    field: missing === undefined ? at : `${at}.${missing}`,
    code: "schema",
    message: messageOf(one, valueAt(schema, one.keywordLocation)),
  };
}

/** `#/labels/0` as problems name it. */
function fieldOf(location: string): string {
  return words(location).reduce(
    (path, word) => (/^\d+$/.test(word) ? `${path}[${word}]` : `${path}.${word}`),
    ROOT,
  );
}

function words(location: string): string[] {
  return location
    .split("/")
    .slice(1)
    .map((word) => decodeURIComponent(word).replace(/~1/g, "/").replace(/~0/g, "~"));
}

/** What a keyword of the schema wants, through what the schema refers to in itself. */
function valueAt(schema: Schema, location: string): unknown {
  let at: unknown = schema;
  for (const word of words(location)) {
    const next = (at as Schema | undefined)?.[word];
    at = word === "$ref" && typeof next === "string" ? valueAt(schema, next) : next;
  }
  return at;
}

/** What a schema says of a property, itself or where it points to. */
export function resolveProperty(schema: Schema | undefined, property: Schema): Schema {
  const { $ref, ...own } = property;
  if (typeof $ref !== "string" || !$ref.startsWith("#/") || !schema) return property;
  return { ...(valueAt(schema, $ref) as Schema | undefined), ...own };
}

function messageOf({ keyword, error }: OutputUnit, wants: unknown): string {
  const known = t[keyword as keyof typeof t] as ((wants: string) => string) | undefined;
  if (!known) return error;
  return known(typeof wants === "string" ? wants : [wants ?? ""].flat().map(String).join(", "));
}

function uniqueProblems(problems: Problem[]): Problem[] {
  const all = new Map(problems.map((one) => [`${one.field} ${one.message}`, one]));
  return [...all.values()];
}
