import type { Schemas } from "@/api/client";

export type Step = Schemas["PipelineStep"];
export type Comment = Schemas["Comment"];
export type Kind = "service" | "job" | "plugin" | "approval" | "script";
/** What a service and a job have in common: a job has no readiness check and no restart. */
export type Container = NonNullable<Step["service"]>;
export type InputField = Schemas["InputField"];
export type Spot = { x: number; y: number };

/** How long a job may take if it does not say so. */
export const JOB_SECONDS = 600;

/** The pipeline being edited. It is immutable: each edit returns a new document. */
export type Doc = { steps: Step[]; comments: Comment[]; input?: InputField[] };

export const emptyDoc: Doc = { steps: [], comments: [] };

/** The part of a stored pipeline that can be edited. */
export function docOf(pipeline?: {
  steps?: Step[] | null;
  comments?: Comment[] | null;
  input?: InputField[] | null;
}): Doc {
  const { steps, comments, input } = pipeline ?? {};
  return { steps: steps ?? [], comments: comments ?? [], ...inputOf(input) };
}

/** Without a field there is no list of them. */
export function inputOf(input?: InputField[] | null): Pick<Doc, "input"> {
  return input?.length ? { input } : {};
}

/** The request body, without the catalogue's copies, which the server adds on saving. */
export function pipelineOf(doc: Doc): Schemas["Pipeline"] {
  const steps = doc.steps.map(withoutCatalogueCopy);
  const comments = doc.comments.length > 0 ? { comments: doc.comments } : {};
  return { format: 1, steps, ...inputOf(doc.input), ...comments };
}

/** A step without the values that the server copies from the catalogue. */
export function withoutCatalogueCopy(step: Step): Step {
  if (step.service) {
    const { image: _, ...service } = step.service;
    return { ...step, service };
  }
  if (step.job) {
    const { image: _, ...job } = step.job;
    return { ...step, job };
  }
  if (step.plugin) {
    const { image: _, component: __, ...plugin } = step.plugin;
    return { ...step, plugin };
  }
  if (step.script) {
    const { removes: _, ...script } = step.script;
    return { ...step, script };
  }
  return step;
}

/** The container that a service or a job describes. */
export function containerOf(step: Step): Container | undefined {
  return step.service ?? step.job;
}

/** The field of a step that describes its container. */
export function containerPath(step: Step): "service" | "job" {
  return step.job ? "job" : "service";
}

export function kindOf(step: Step): Kind {
  if (step.service) return "service";
  if (step.job) return "job";
  if (step.script) return "script";
  return step.plugin ? "plugin" : "approval";
}

export function stepOf(doc: Doc, key: string): Step | undefined {
  return doc.steps.find((step) => step.key === key);
}

/** Canonical JSON: equal documents give equal text, whatever the order of their fields. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

export function sameDoc(a: Doc, b: Doc): boolean {
  return (
    a === b ||
    (sameList(a.steps, b.steps, withoutCatalogueCopy) &&
      sameList(a.comments, b.comments) &&
      sameList(a.input ?? [], b.input ?? []))
  );
}

/** Identity first: most of a document is the same objects as before. */
function sameList<T>(a: T[], b: T[], of: (item: T) => T = (item) => item): boolean {
  const same = (x: T, y: T | undefined) =>
    x === y || (y !== undefined && canonical(of(x)) === canonical(of(y)));
  return a.length === b.length && a.every((item, i) => same(item, b[i]));
}

/** Reads the value at a path such as service.env.PORT; undefined if there is none. */
export function readField(step: Step, path: string): unknown {
  let at: unknown = step;
  for (const word of split(path)) {
    if (!at || typeof at !== "object") return undefined;
    at = (at as Record<string, unknown>)[word];
  }
  return at;
}

/** Sets the value at a path; undefined removes it, and objects that become empty. */
export function writeField(step: Step, path: string, value: unknown): Step {
  return setAt(step, split(path), value) as Step;
}

/**
 * The first two segments of a path are our field names, optionally with a list index; the rest is
 * one name, which may contain dots.
 */
function split(path: string): string[] {
  const [, list, place, name] = /^(\w+\.\w+)\[(\d+)\](?:\.(.+))?$/.exec(path) ?? [];
  if (list && place) return [...list.split("."), place, ...(name ? [name] : [])];
  const words = path.split(".");
  return words.length <= 3 ? words : [...words.slice(0, 2), words.slice(2).join(".")];
}

function setAt(at: unknown, words: string[], value: unknown, depth = 0): unknown {
  const [word, ...rest] = words;
  if (word === undefined) return value;
  if (Array.isArray(at))
    return at.map((item, i) => (String(i) === word ? setAt(item, rest, value, depth + 1) : item));
  const object = (at && typeof at === "object" ? at : {}) as Record<string, unknown>;
  const next = setAt(object[word], rest, value, depth + 1);
  if (next !== undefined) return { ...object, [word]: next };
  const { [word]: _, ...others } = object;
  return Object.keys(others).length > 0 || depth < 2 ? others : undefined;
}
