import { type Catalogue, outputsOf, type Port } from "./catalogue";
import { type Doc, type Step, stepOf } from "./document";
import { formatExpression, refsIn } from "./expressions";

/** Outputs that are given for steps, which then do not run: what was typed, by step and output. */
export type Pins = ReadonlyMap<string, Record<string, string>>;

/**
 * What runs before a step, in the order of the drawing: all that it waits for and refers to. What
 * is pinned is among it, but not what only that would need.
 */
export function stepsBefore(doc: Doc, key: string, pins: Pins): Step[] {
  const wanted = new Set([key]);
  for (const next of wanted) {
    const step = stepOf(doc, next);
    if (!step || (next !== key && pins.has(next))) continue;
    for (const need of step.needs ?? []) wanted.add(need);
    for (const ref of refsIn(step)) if ("key" in ref) wanted.add(ref.key);
  }
  return doc.steps.filter((step) => step.key !== key && wanted.has(step.key));
}

/** Whether its outputs can be given: a service has to run. */
export function canPin(step: Step): boolean {
  return !step.service;
}

/** The outputs of a step: those that it declares, and those that others refer to all the same. */
export function pinnedFields(doc: Doc, step: Step, catalogue: Catalogue): Port[] {
  const declared = outputsOf(step, catalogue);
  const known = new Set(declared.map((port) => port.name));
  const asked = new Set(
    refsIn(doc.steps).flatMap((ref) =>
      ref.scope === "steps" && ref.key === step.key && !known.has(ref.name) ? [ref.name] : [],
    ),
  );
  return [...declared, ...[...asked].map((name): Port => ({ name, label: name, type: "any" }))];
}

/** The values of what is pinned before a step, as the API takes them. */
export function pinnedOutputs(
  doc: Doc,
  key: string,
  catalogue: Catalogue,
  pins: Pins,
): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    stepsBefore(doc, key, pins).flatMap((step) => {
      const typed = pins.get(step.key);
      if (!typed) return [];
      const values = pinnedFields(doc, step, catalogue).flatMap((port) => {
        const text = typed[port.name] ?? "";
        return text === "" ? [] : [[port.name, typedValue(port, text)] as const];
      });
      return [[step.key, Object.fromEntries(values)] as const];
    }),
  );
}

function typedValue({ type }: Port, text: string): unknown {
  switch (type) {
    case "text":
    case "url":
      return text;
    case "secret":
      return formatExpression({ scope: "secrets", name: text });
    default:
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
  }
}

/** Outputs of a run as they are typed. Secret ones cannot be read. */
export function typedOutputs(outputs: Record<string, unknown> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(outputs).flatMap(([name, value]) => {
      if (value === SECRET) return [];
      return [[name, typeof value === "string" ? value : JSON.stringify(value)]];
    }),
  );
}

/** What the API says in place of a secret output. */
const SECRET = "[secret]";
