import { ancestorsOf, type Catalogue, inputsOf } from "./catalogue";
import { containerOf, type Doc, readField, type Step, stepOf } from "./document";
import { addInputReference, addNeed, inputAt, refTo, removeInputReference, setField } from "./edit";
import {
  FUNCTIONS,
  formatExpression,
  listStrings,
  mapStrings,
  parseSingleExpression,
  type Ref,
  refsIn,
  refText,
  rewriteExpressions,
  wrapInFunction,
} from "./expressions";
import { whyInvalidRef } from "./problems";

/** Adding and removing references in fields, with the same result for typing, menu and drag. */

/** Drop targets that create a new environment variable. */
const NEW_VARIABLES = ["service.env", "job.env"];
const COMMANDS = ["service.command", "job.command"];

export function isNewVariable(path: string): boolean {
  return NEW_VARIABLES.includes(path);
}

/**
 * Inserts a reference into a text at a position; a text that is only a reference is replaced. A
 * function is wrapped around the existing reference.
 */
export function insertReference(text: string, chosen: string, at = text.length): string {
  const name = FUNCTIONS.find((one) => one === chosen);
  if (name) return wrapInFunction(text, name, at);
  return text === "" || parseSingleExpression(text)
    ? chosen
    : text.slice(0, at) + chosen + text.slice(at);
}

/**
 * Changes a field, and adds an order edge from each newly referenced step unless that makes a
 * cycle.
 */
export function setFieldAndOrder(
  doc: Doc,
  catalogue: Catalogue,
  key: string,
  path: string,
  value: unknown,
): Doc {
  const step = stepOf(doc, key);
  const known = new Set(step && refsIn(readField(step, path)).map(refText));
  const came = refsIn(value).filter((ref) => !known.has(refText(ref)));
  const next = setField(doc, key, path, value);
  return came.reduce((now, ref) => waitFor(now, catalogue, ref, key), next);
}

function waitFor(doc: Doc, catalogue: Catalogue, ref: Ref, key: string): Doc {
  const step = stepOf(doc, key);
  if (!step || !("key" in ref)) return doc;
  const by = new Map(doc.steps.map((one) => [one.key, one]));
  const why = whyInvalidRef(ref, step, by, ancestorsOf(doc), catalogue);
  return why?.code === "not_ancestor" ? addNeed(doc, ref.key, key) : doc;
}

/** Connects an output to a field. */
export function addReference(
  doc: Doc,
  catalogue: Catalogue,
  from: string,
  output: string,
  to: string,
  path: string,
): Doc {
  const step = stepOf(doc, to);
  const ref = formatExpression(refTo(doc, from, output));
  const set = (field: string, value: unknown) => setFieldAndOrder(doc, catalogue, to, field, value);
  const { command = [] } = (step && containerOf(step)) ?? {};
  if (COMMANDS.includes(path)) return set(path, [...command, ref]);
  if (isNewVariable(path)) return set(`${path}.${freeVariable(step, from, output)}`, ref);
  return addInputReference(doc, from, output, to, path, takesText(step, catalogue, path));
}

/** Whether a field allows a reference within other text. */
function takesText(step: Step | undefined, catalogue: Catalogue, path: string): boolean {
  const input = step && inputAt(inputsOf(step, catalogue), path);
  return input?.type === "text" || isSecretInput(path) || !path.startsWith("plugin.");
}

/** A plugin's secret takes several references, with text between them. */
function isSecretInput(path: string): boolean {
  return /^(plugin|script)\.secrets\./.test(path);
}

/** The name of a new variable for an output, such as API_URL; numbered if taken. */
function freeVariable(step: Step | undefined, from: string, output: string): string {
  const name = `${from}_${output}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const taken = (step && containerOf(step)?.env) ?? {};
  if (!(name in taken)) return name;
  for (let i = 2; ; i++) if (!(`${name}_${i}` in taken)) return `${name}_${i}`;
}

/** Removes every reference to an output from a field and keeps the rest. */
export function removeReference(
  doc: Doc,
  from: string,
  output: string,
  to: string,
  path: string,
): Doc {
  const step = stepOf(doc, to);
  const old = step && readField(step, path);
  if (typeof old === "string" && !isContent(path))
    return removeInputReference(doc, from, output, to, path);
  const gone = refText(refTo(doc, from, output));
  const left = COMMANDS.includes(path)
    ? withoutWord(old, gone)
    : mapStrings(old, (text) => removeRef(text, gone));
  return setField(doc, to, path, left);
}

/** A required text, which may be empty but not absent. */
function isContent(path: string): boolean {
  return /^(service|job)\.files\[/.test(path) || path === "approval.prompt";
}

/** Drops a command argument that consisted of the reference. */
function withoutWord(command: unknown, gone: string): string[] | undefined {
  const words = listStrings(command, "").flatMap(({ text }) =>
    isOnly(text, gone) ? [] : removeRef(text, gone),
  );
  return words.length > 0 ? words : undefined;
}

function isOnly(text: string, gone: string): boolean {
  const only = parseSingleExpression(text);
  return only !== undefined && refText(only.ref) === gone;
}

function removeRef(text: string, gone: string): string {
  return rewriteExpressions(text, ({ ref }) => (refText(ref) === gone ? "" : undefined));
}
