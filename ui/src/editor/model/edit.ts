import { ancestorsOf, type Catalogue, type Input, outputsOf } from "./catalogue";
import {
  type Comment,
  type Doc,
  readField,
  type Spot,
  type Step,
  stepOf,
  writeField,
} from "./document";
import {
  formatExpression,
  mapStrings,
  parse,
  parseSingleExpression,
  type Ref,
  refText,
  renameRefs,
  rewriteExpressions,
} from "./expressions";

import { renameMembers, withoutMembers } from "./members";

/** Edits: each returns a new document and leaves the old one unchanged. */

export function changeStep(doc: Doc, key: string, change: (step: Step) => Step): Doc {
  return { ...doc, steps: doc.steps.map((step) => (step.key === key ? change(step) : step)) };
}

export function setField(doc: Doc, key: string, path: string, value: unknown): Doc {
  return changeStep(doc, key, (step) => writeField(step, path, value));
}

export function addStep(doc: Doc, step: Step): Doc {
  return { ...doc, steps: [...doc.steps, { ...step, key: freeKey(doc, step.key) }] };
}

/** The name itself, or with a number appended if it is taken. */
export function freeKey(doc: Doc, wanted: string, taken = new Set<string>()): string {
  const used = (key: string) => taken.has(key) || doc.steps.some((step) => step.key === key);
  if (!used(wanted)) return wanted;
  const stem = wanted.replace(/-\d+$/, "").slice(0, 36);
  for (let i = 2; ; i++) if (!used(`${stem}-${i}`)) return `${stem}-${i}`;
}

export function isKey(key: string): boolean {
  return key.length <= 40 && /^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(key);
}

/** Removes steps and the edges to them. References to them stay, and become problems to solve. */
export function removeSteps(doc: Doc, keys: Set<string>): Doc {
  const steps = doc.steps.filter((step) => !keys.has(step.key));
  return {
    ...doc,
    steps: steps.map((step) => withoutNeeds(step, (need) => keys.has(need))),
    comments: withoutMembers(doc.comments, keys),
  };
}

function withoutNeeds(step: Step, gone: (need: string) => boolean): Step {
  if (!step.needs?.some(gone)) return step;
  return withNeeds(
    step,
    step.needs.filter((need) => !gone(need)),
  );
}

export function withNeeds(step: Step, needs: string[]): Step {
  const { needs: _, ...rest } = step;
  return needs.length > 0 ? { ...rest, needs } : rest;
}

/** Renames a step wherever it is spoken of: its edges and every reference go along. */
export function renameStep(doc: Doc, from: string, to: string): Doc {
  const names = new Map([[from, to]]);
  return {
    ...doc,
    steps: doc.steps.map((step) => renameInStep(step, names)),
    comments: renameMembers(doc.comments, names),
  };
}

/** A step with names replaced, its own, those of its edges and those in its fields. */
export function renameInStep(step: Step, names: Map<string, string>): Step {
  const { key, needs, position, ...body } = step;
  const next = mapStrings(body, (text) => renameRefs(text, names)) as Omit<Step, "key">;
  const out: Step = { key: names.get(key) ?? key, ...next };
  if (position) out.position = position;
  return withNeeds(
    out,
    (needs ?? []).map((need) => names.get(need) ?? need),
  );
}

/** Makes a service a job or a job a service, without what the other kind does not have. */
export function withKind(step: Step, kind: "service" | "job"): Step {
  const { service, job, ...rest } = step;
  if (service && kind === "job") {
    const { ready: _, restart: __, ports, ...kept } = service;
    const own = ports?.map(({ name, port }) => ({ name, port }));
    return { ...rest, job: own ? { ...kept, ports: own } : kept };
  }
  if (job && kind === "service") {
    const { timeout_seconds: _, tests: __, ...kept } = job;
    return { ...rest, service: kept };
  }
  return step;
}

/** Whether an edge can be drawn; if not, why. */
export function whyNotAddNeed(
  doc: Doc,
  from: string,
  to: string,
): "self" | "circle" | "there" | null {
  if (from === to) return "self";
  if (stepOf(doc, to)?.needs?.includes(from)) return "there";
  return ancestorsOf(doc).get(from)?.has(to) ? "circle" : null;
}

export function addNeed(doc: Doc, from: string, to: string): Doc {
  if (whyNotAddNeed(doc, from, to)) return doc;
  return changeStep(doc, to, (step) => withNeeds(step, [...(step.needs ?? []), from]));
}

export function removeNeed(doc: Doc, from: string, to: string): Doc {
  return changeStep(doc, to, (step) => withoutNeeds(step, (need) => need === from));
}

/** The reference that an output's port stands for. */
export function refTo(doc: Doc, key: string, output: string): Ref {
  const step = stepOf(doc, key);
  if (step?.service) return { scope: "services", key, name: output as "host" };
  return { scope: "steps", key, name: output };
}

/**
 * Makes a field refer to an output, and adds the order edge unless it exists. In a text field
 * (`among`) the reference is appended to the text.
 */
export function addInputReference(
  doc: Doc,
  from: string,
  output: string,
  to: string,
  path: string,
  among = false,
): Doc {
  const ref = formatExpression(refTo(doc, from, output));
  const step = stepOf(doc, to);
  const old = step && readField(step, path);
  const kept = among && typeof old === "string" && !parseSingleExpression(old) ? old : "";
  const there = refsIn(kept).has(refText(refTo(doc, from, output)));
  const next = setField(doc, to, path, there ? kept : kept + ref);
  const waits = from === to || ancestorsOf(next).get(to)?.has(from);
  // A URL is only text: a step may know it before the service is up.
  const loose = output === "url" && Boolean(stepOf(doc, from)?.service);
  return waits || loose ? next : addNeed(next, from, to);
}

function refsIn(text: string): Set<string> {
  return new Set(parse(text).parts.flatMap((part) => ("ref" in part ? refText(part.ref) : [])));
}

/** A field no longer refers to an output; what else is written there stays. */
export function removeInputReference(
  doc: Doc,
  from: string,
  output: string,
  to: string,
  path: string,
): Doc {
  const step = stepOf(doc, to);
  const old = step && readField(step, path);
  if (typeof old !== "string") return doc;
  const gone = refText(refTo(doc, from, output));
  const text = rewriteExpressions(old, ({ ref }) => (refText(ref) === gone ? "" : undefined));
  // A variable stays one, though nothing is in it.
  return setField(doc, to, path, text || (/^(service|job)\.env\./.test(path) ? "" : undefined));
}

/** The type of an output, for those who ask whether it fits. */
export function outputType(doc: Doc, catalogue: Catalogue, key: string, output: string) {
  const step = stepOf(doc, key);
  return step && outputsOf(step, catalogue).find((port) => port.name === output)?.type;
}

export function inputAt(inputs: Input[], path: string): Input | undefined {
  return inputs.find((input) => input.path === path);
}

/** Moves steps and comments; what did not move stays the same object. */
export function moveItems(doc: Doc, spots: Map<string, Spot>): Doc {
  const at = <T extends { position?: Spot }>(id: string, item: T): T => {
    const spot = spots.get(id);
    return spot ? { ...item, position: { x: Math.round(spot.x), y: Math.round(spot.y) } } : item;
  };
  return {
    ...doc,
    steps: doc.steps.map((step) => at(step.key, step)),
    comments: doc.comments.map((comment, i) => at(commentId(i), comment)),
  };
}

/** Comments have no name; on the canvas they go by their place in the list. */
export function commentId(index: number): string {
  return `#${index}`;
}

export function addComment(doc: Doc, comment: Comment): Doc {
  return { ...doc, comments: [...doc.comments, comment] };
}

export function setComment(doc: Doc, index: number, text: string): Doc {
  const comments = doc.comments.map((one, i) => (i === index ? { ...one, text } : one));
  return { ...doc, comments };
}

/** All that can be chosen on the canvas. */
export function allIds(doc: Doc): Set<string> {
  return new Set([
    ...doc.steps.map((step) => step.key),
    ...doc.comments.map((_, i) => commentId(i)),
  ]);
}

/** Removes whatever is chosen on the canvas. */
export function removeSelected(doc: Doc, ids: Set<string>): Doc {
  const comments = doc.comments.filter((_, i) => !ids.has(commentId(i)));
  return removeSteps({ ...doc, comments }, ids);
}
