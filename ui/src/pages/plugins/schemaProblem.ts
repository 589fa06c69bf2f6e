import { pluginTexts as t } from "@/pages/catalogTexts";

// What is wrong with a JSON Schema of parameters, at any depth, before a form is made of it. The server
// has the last word: what can't be judged here, such as a pattern of another dialect, passes.

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const LEAST = ["minimum", "exclusiveMinimum", "minLength", "minItems"];
const MOST = ["maximum", "exclusiveMaximum", "maxLength", "maxItems"];

/** The first thing that is wrong, in a sentence that names where. */
export function schemaProblem(schema: Json): string | undefined {
  if (schema.type !== undefined && schema.type !== "object") return t.schemaRoot;
  return insideProblem(schema, "");
}

/** What an object's schema says of its properties, and which of them it requires. */
function insideProblem(schema: Json, path: string): string | undefined {
  const { properties = {}, required = [] } = schema;
  if (!isObject(properties) || !Array.isArray(required)) return t.schemaParts(path);
  for (const [name, property] of Object.entries(properties)) {
    const at = path + name;
    // Further inside, where no field is made of it, a property may be just allowed.
    if (path !== "" && typeof property === "boolean") continue;
    const wrong = isObject(property) ? propertyProblem(property, at) : t.schemaProperty(at);
    if (wrong) return wrong;
  }
  // An object without properties of its own takes any name, those that it requires among them.
  if (path !== "" && !("properties" in schema)) return undefined;
  const stray = required.find((name) => !(String(name) in properties));
  return stray === undefined ? undefined : t.schemaRequired(`${path}${stray}`);
}

function propertyProblem(property: Json, at: string): string | undefined {
  if (typesOf(property).some((type) => !TYPES.includes(type))) return t.schemaType(at);
  return (
    boundProblem(property, at) ??
    choiceProblem(property, at) ??
    defaultProblem(property, at) ??
    insideProblem(property, `${at}.`) ??
    (isObject(property.items) ? propertyProblem(property.items, `${at}[]`) : undefined)
  );
}

function boundProblem(property: Json, at: string): string | undefined {
  const stray = [...LEAST, ...MOST].find(
    (key) => !["number", "undefined"].includes(typeof property[key]),
  );
  if (stray) return t.schemaBound(at, stray);
  const crossed = LEAST.findIndex(
    (key, i) => Number(property[key]) > Number(property[MOST[i] ?? ""]),
  );
  return crossed < 0 ? undefined : t.schemaBounds(at);
}

function choiceProblem(property: Json, at: string): string | undefined {
  const { enum: choices } = property;
  if (choices === undefined) return undefined;
  if (!Array.isArray(choices) || choices.length === 0) return t.schemaChoices(at);
  const types = typesOf(property);
  const stray = choices.find((one) => !isOfType(one, types));
  return stray === undefined ? undefined : t.schemaChoice(at, JSON.stringify(stray));
}

function defaultProblem(property: Json, at: string): string | undefined {
  if (!("default" in property)) return undefined;
  const why = findMisfit(property.default, property);
  return why && t.schemaDefaults[why](at);
}

type Misfit = keyof typeof t.schemaDefaults;

/** Why a value is none that a schema allows. */
function findMisfit(value: unknown, schema: Json): Misfit | undefined {
  if (!isOfType(value, typesOf(schema))) return "type";
  const { enum: choices, items, properties } = schema;
  const same = (one: unknown) => JSON.stringify(one) === JSON.stringify(value);
  if (Array.isArray(choices) && !choices.some(same)) return "choice";
  if (typeof value === "number") return isOutOfBounds(value, schema, "imum") ? "bounds" : undefined;
  if (typeof value === "string")
    return isOutOfBounds([...value].length, schema, "Length")
      ? "bounds"
      : matchPattern(value, schema.pattern);
  if (Array.isArray(value) && isOutOfBounds(value.length, schema, "Items")) return "bounds";
  const parts: [unknown, unknown][] = Array.isArray(value)
    ? value.map((one) => [one, items])
    : isObject(value) && isObject(properties)
      ? Object.entries(value).map(([name, one]) => [one, properties[name]])
      : [];
  return firstOf(parts.map(([one, of]) => (isObject(of) ? findMisfit(one, of) : undefined)));
}

const firstOf = <T>(all: (T | undefined)[]) => all.find((one) => one !== undefined);

/** Whether a size is out of "minimum" and "maximum", or what they are called for a length. */
function isOutOfBounds(size: number, schema: Json, of: "imum" | "Length" | "Items"): boolean {
  const bound = (key: string, none: number) =>
    typeof schema[key] === "number" ? (schema[key] as number) : none;
  if (size < bound(`min${of}`, -Infinity) || size > bound(`max${of}`, Infinity)) return true;
  if (of !== "imum") return false;
  return (
    size <= bound("exclusiveMinimum", -Infinity) || size >= bound("exclusiveMaximum", Infinity)
  );
}

/** The server's patterns have words that a browser's have not: what can't be read here passes. */
function matchPattern(value: string, pattern: unknown): Misfit | undefined {
  if (typeof pattern !== "string") return undefined;
  try {
    return new RegExp(pattern, "u").test(value) ? undefined : "pattern";
  } catch {
    return undefined;
  }
}

const typesOf = (schema: Json) => [schema.type ?? []].flat().map(String);

function isOfType(value: unknown, types: string[]): boolean {
  if (types.length === 0) return true;
  return types.some((type) => {
    if (type === "null") return value === null;
    if (type === "integer") return Number.isInteger(value);
    if (type === "array") return Array.isArray(value);
    if (type === "object") return isObject(value);
    return typeof value === type;
  });
}
