import type { Schemas } from "@/api/client";
import { editorTexts } from "@/editor/editorTexts";
import { containerOf, containerPath, type Doc, kindOf, type Step } from "./document";
import { parseSingleExpression } from "./expressions";

const t = editorTexts.shown;

/** What can be put into a pipeline, by name. */
export type Catalogue = {
  services: Map<string, Schemas["Service"]>;
  plugins: Map<string, Schemas["Plugin"]>;
  /** The project's secrets: their names, never a value. */
  secrets: string[];
};

export type PortType = "text" | "number" | "url" | "secret" | "object" | "bool" | "any";
export type Port = { name: string; label: string; type: PortType };
/** An input: a field that can hold a reference. `path` is as problems name it. */
export type Input = Port & {
  path: string;
  required?: boolean;
  value?: unknown;
  /**
   * Readable to everybody who sees the deployment or has access to the node, so it must not hold a
   * secret.
   */
  open?: boolean;
};

type Schema = {
  type?: unknown;
  writeOnly?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  "x-order"?: string[];
};

export function componentOf(step: Step, catalogue: Catalogue): Schemas["Component"] | undefined {
  // A script declares its outputs itself.
  if (step.script) return { outputs: step.script.outputs ?? {} } as Schemas["Component"];
  return catalogue.plugins.get(step.plugin?.name ?? "")?.component ?? step.plugin?.component;
}

/** The fields of a schema in the order in which they were written, as far as that is noted. */
export function properties(schema: unknown): [string, Record<string, unknown>][] {
  const { properties: found, "x-order": order = [] } = (schema ?? {}) as Schema;
  if (!found || typeof found !== "object") return [];
  return sortBy(Object.entries(found) as [string, Record<string, unknown>][], order);
}

/**
 * The parameters of a plugin as a form shows them: in the order of the schema. Of a plugin that was
 * saved before the order was noted, those that are required come first.
 */
export function parametersOf(schema: unknown): [string, Record<string, unknown>][] {
  const { "x-order": order, required = [] } = (schema ?? {}) as Schema;
  return order ? properties(schema) : sortBy(properties(schema), required);
}

/** Those whose names are in the list come first, in its order. */
function sortBy<T>(fields: [string, T][], names: string[]): [string, T][] {
  const rank = ([name]: [string, T]) => {
    const at = names.indexOf(name);
    return at < 0 ? names.length : at;
  };
  return fields.sort((a, b) => rank(a) - rank(b));
}

/** The outputs that later steps can refer to. */
export const outputsOf = perStep((step, catalogue): Port[] => {
  if (step.service) {
    const ports = step.service.ports ?? [];
    return [
      { name: "host", label: "host", type: "text" },
      ...(ports.length > 0 ? [{ name: "port", label: "port", type: "number" } as Port] : []),
      ...(ports.some((port) => port.expose)
        ? [{ name: "url", label: "url", type: "url" } as Port]
        : []),
    ];
  }
  // A job has ended before another step could connect to it.
  if (step.job) return [];
  if (step.approval) {
    const fields = (step.approval.fields ?? []).map((field) => ({
      name: field.name,
      label: field.name,
      type: typeOf({ type: field.type }),
    }));
    return [...fields, { name: "answered_by", label: "answered_by", type: "text" }];
  }
  return properties(componentOf(step, catalogue)?.outputs).map(([name, schema]) => ({
    name,
    label: name,
    type: typeOf(schema),
  }));
});

/** The fields of a step that hold references or could. */
export const inputsOf = perStep((step, catalogue): Input[] => {
  if (step.service || step.job) return inputsOfContainer(step);
  if (step.approval) {
    const { prompt: value } = step.approval;
    return [{ ...anyInput(t.prompt, "approval.prompt", value), open: true }];
  }
  if (step.script) return inputsOfScript(step.script);
  const component = componentOf(step, catalogue);
  const required = ((component?.parameters as { required?: string[] })?.required ?? []) as string[];
  const parameters = parametersOf(component?.parameters).map<Input>(([name, schema]) => ({
    name,
    label: name,
    path: `plugin.parameters.${name}`,
    type: typeOf(schema),
    required: required.includes(name) && schema.default === undefined,
    value: step.plugin?.parameters?.[name],
  }));
  const secrets = (component?.secrets ?? []).map<Input>((secret) => ({
    name: `secret:${secret.name}`,
    label: secret.name,
    path: `plugin.secrets.${secret.name}`,
    type: "secret",
    required: secret.required,
    value: step.plugin?.secrets?.[secret.name],
  }));
  return [...secrets, ...parameters];
});

function inputsOfScript({ parameters, secrets }: NonNullable<Step["script"]>) {
  return [
    ...Object.entries(secrets ?? {}).map<Input>(([name, value]) => ({
      ...anyInput(name, `script.secrets.${name}`, value),
      name: `secret:${name}`,
      type: "secret",
      required: true,
    })),
    ...Object.entries(parameters ?? {}).map<Input>(([name, value]) => ({
      ...anyInput(name, `script.parameters.${name}`, value),
      open: true,
    })),
  ];
}

function inputsOfContainer(step: Step) {
  const { env = {}, files = [], entrypoint, command } = containerOf(step) ?? {};
  const at = containerPath(step);
  const variables = Object.entries(env).map(([name, value]) =>
    anyInput(name, `${at}.env.${name}`, value),
  );
  const contents = files.map(({ path, content }, i) =>
    anyInput(path, `${at}.files[${i}].content`, content),
  );
  return [
    ...variables,
    ...contents,
    ...(entrypoint
      ? [{ ...anyInput(t.entrypoint, `${at}.entrypoint`, entrypoint), open: true }]
      : []),
    { ...anyInput(t.command, `${at}.command`, command), open: true },
  ];
}

function anyInput(label: string, path: string, value: unknown): Input {
  return { name: label, label, path, type: "any", value };
}

export function typeOf(schema: Record<string, unknown> | undefined): PortType {
  if (schema?.writeOnly) return "secret";
  const type = Array.isArray(schema?.type) ? schema.type[0] : schema?.type;
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "bool";
  if (type === "object" || type === "array") return "object";
  return type === "string" ? "text" : "any";
}

/** Whether a value of one type can be put into a field: beside other text, each becomes text. */
export function acceptsOutput(
  input: Pick<Input, "type" | "value" | "open">,
  from: PortType,
): boolean {
  if (from === "secret" && input.open) return false;
  return isAssignable(from, input.type) || (input.type === "text" && hasOtherText(input.value));
}

/** Whether there is text that a reference would stand among. */
export function hasOtherText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !parseSingleExpression(value);
}

/** Whether a value of one type may be given to a field of another. */
export function isAssignable(from: PortType, to: PortType): boolean {
  if (from === "any" || to === "any" || from === to) return true;
  // A secret is text that is never shown; a URL is text too.
  return to === "text" && (from === "secret" || from === "url");
}

export function nameOf(step: Step): string {
  return containerOf(step)?.name ?? step.plugin?.name ?? kindOf(step);
}

/** A step's kind and what it is of, in words. */
export function describeKind(step: Step): string {
  const kind = kindOf(step);
  const words = editorTexts.step;
  return kind === "approval" || kind === "script" ? words[kind] : words[kind](nameOf(step));
}

/** The steps that are done before each step begins; what is in a circle waits for itself. */
export const ancestorsOf = onceFor((doc) => {
  const needs = new Map(doc.steps.map((step) => [step.key, step.needs ?? []]));
  const all = new Map<string, Set<string>>();
  for (const { key } of doc.steps) {
    const found = new Set<string>();
    const open = [...(needs.get(key) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...(needs.get(next) ?? []));
    }
    all.set(key, found);
  }
  return all;
});

/** The order in which steps run; what is in a circle comes last, as it is listed. */
export const orderOf = onceFor((doc) => {
  const left = new Map(
    doc.steps.map((step) => [step.key, new Set((step.needs ?? []).filter((n) => n !== step.key))]),
  );
  for (const needs of left.values())
    for (const need of needs) if (!left.has(need)) needs.delete(need);
  const order: string[] = [];
  while (left.size > 0) {
    const ready = [...left].filter(([, needs]) => needs.size === 0).map(([key]) => key);
    const next = ready.sort()[0];
    if (next === undefined) return [...order, ...left.keys()];
    order.push(next);
    left.delete(next);
    for (const needs of left.values()) needs.delete(next);
  }
  return order;
});

/**
 * What follows from the lines between steps alone is found once for each drawing, and once for those
 * that differ in something else: a letter in a field is asked about five hundred steps otherwise.
 */
function onceFor<T>(find: (doc: Doc) => T): (doc: Doc) => T {
  const known = new WeakMap<Doc, T>();
  let last: WeakRef<Doc> | undefined;
  return (doc) => {
    const before = last?.deref();
    const like = known.has(doc) ? doc : before && sameLines(before, doc) ? before : undefined;
    const found = like ? (known.get(like) as T) : find(doc);
    known.set(doc, found);
    last = new WeakRef(doc);
    return found;
  };
}

/** Documents are immutable, so unchanged edges are the same array. */
function sameLines(a: Doc, b: Doc): boolean {
  return (
    a.steps.length === b.steps.length &&
    a.steps.every(({ key, needs }, i) => key === b.steps[i]?.key && needs === b.steps[i]?.needs)
  );
}

/** What follows from one step and the catalogue is found once for each step as it is. */
export function perStep<T>(find: (step: Step, catalogue: Catalogue) => T) {
  const known = new WeakMap<Catalogue, WeakMap<Step, { found: T }>>();
  return (step: Step, catalogue: Catalogue): T => {
    const steps = known.get(catalogue) ?? new WeakMap<Step, { found: T }>();
    known.set(catalogue, steps);
    const old = steps.get(step);
    if (old) return old.found;
    const found = find(step, catalogue);
    steps.set(step, { found });
    return found;
  };
}
