import { freeKey, renameStep } from "./edit";
import { bare, type Comment, canonical, type Doc, docOf, pipelineOf, type Step } from "./model";

/** One step or comment field by field: path → value. What a person calls one thing is one field. */
export type Fields = Map<string, unknown>;

/** Maps whose entries are fields of their own. */
const OPEN = new Set([
  "service",
  "plugin",
  "approval",
  "service.env",
  "service.resources",
  "plugin.parameters",
  "plugin.secrets",
  "plugin.resources",
]);

export function fieldsOf(step: Step): Fields {
  const out: Fields = new Map();
  const walk = (value: object, at: string) => {
    for (const [key, part] of Object.entries(value)) {
      const path = at ? `${at}.${key}` : key;
      if (path === "key" || part === undefined) continue;
      if (OPEN.has(path) && part && typeof part === "object") walk(part, path);
      else out.set(path, part);
    }
  };
  walk(step, "");
  // A kind without any field is still a kind.
  for (const kind of ["service", "plugin", "approval"] as const)
    if (step[kind]) out.set(`${kind}.name`, (step[kind] as { name?: string }).name ?? "");
  return out;
}

function build(key: string, fields: Fields): Step {
  const out: Record<string, unknown> = { key };
  for (const [path, value] of fields) {
    const words = path.split(".");
    const depth = OPEN.has(words.slice(0, 2).join(".")) ? 3 : OPEN.has(words[0] ?? "") ? 2 : 1;
    const parts = [...words.slice(0, depth - 1), words.slice(depth - 1).join(".")];
    let at = out;
    for (const word of parts.slice(0, -1)) {
      at[word] ??= {};
      at = at[word] as Record<string, unknown>;
    }
    at[parts[parts.length - 1] ?? ""] = value;
  }
  const approval = out.approval as Record<string, unknown> | undefined;
  if (approval) delete approval.name;
  return out as unknown as Step;
}

export type Change = { path: string; old?: unknown; now?: unknown };
export type StepChange = { key: string; kind: "added" | "removed" | "changed"; fields: Change[] };

/** What differs between two drawings, step by step. Where something stands is no difference. */
export function changesOf(old: Doc, now: Doc): StepChange[] {
  const [a, b] = [index(old), index(now)];
  const keys = [...new Set([...a.keys(), ...b.keys()])].sort();
  return keys.flatMap<StepChange>((key) => {
    const [was, is] = [a.get(key), b.get(key)];
    if (!was) return { key, kind: "added", fields: [] };
    if (!is) return { key, kind: "removed", fields: [] };
    const fields = compare(was, is).filter((change) => change.path !== "position");
    return fields.length > 0 ? { key, kind: "changed", fields } : [];
  });
}

function compare(was: Fields, is: Fields): Change[] {
  const paths = [...new Set([...was.keys(), ...is.keys()])].sort();
  return paths.flatMap((path) =>
    same(was.get(path), is.get(path)) ? [] : { path, old: was.get(path), now: is.get(path) },
  );
}

function index(doc: Doc): Map<string, Fields> {
  const bare = docOf(pipelineOf(doc));
  return new Map(bare.steps.map((step) => [step.key, fieldsOf(step)]));
}

function same(a: unknown, b: unknown): boolean {
  return a === b || canonical(a ?? null) === canonical(b ?? null);
}

/** A field that both changed, each to something else. An absent path is the whole step. */
export type Conflict = {
  key: string;
  path?: string;
  base: unknown;
  mine: unknown;
  theirs: unknown;
};
export type Merged = {
  conflicts: Conflict[];
  /** Changes that only I made, and that only they made. */
  mine: StepChange[];
  theirs: StepChange[];
};

export function conflictId(conflict: Conflict): string {
  return `${conflict.key} ${conflict.path ?? ""}`;
}

/**
 * Two steps that got the same name on both sides are two steps: mine takes another name. What is the
 * same to its place on the canvas is one: a save whose answer was lost.
 */
function apart(base: Doc, mine: Doc, theirs: Doc): Doc {
  const [o, t] = [index(base), index(theirs)];
  let out = mine;
  for (const step of mine.steps) {
    const their = t.get(step.key);
    if (o.has(step.key) || !their || same([...fieldsOf(bare(step))].sort(), [...their].sort()))
      continue;
    const taken = new Set([...t.keys(), ...o.keys()]);
    out = renameStep(out, step.key, freeKey(out, step.key, taken));
  }
  return out;
}

/** Compares two drawings that came of one. */
export function threeWay(base: Doc, drawn: Doc, theirs: Doc): Merged {
  const mine = apart(base, drawn, theirs);
  const conflicts: Conflict[] = [];
  const [o, m, t] = [index(base), index(mine), index(theirs)];
  for (const key of new Set([...o.keys(), ...m.keys(), ...t.keys()])) {
    const [was, my, their] = [o.get(key), m.get(key), t.get(key)];
    const [myTree, theirTree, baseTree] = [my, their, was].map((f) => f && Object.fromEntries(f));
    if (!my || !their) {
      // One removed what the other changed.
      const left = my ?? their;
      const lost = was && left && compare(was, left).some((change) => change.path !== "position");
      if (lost) conflicts.push({ key, base: baseTree, mine: myTree, theirs: theirTree });
      continue;
    }
    for (const path of new Set([...my.keys(), ...their.keys()])) {
      if (path === "position" || path === "needs") continue;
      const [b, x, y] = [was?.get(path), my.get(path), their.get(path)];
      if (!same(x, y) && !same(x, b) && !same(y, b))
        conflicts.push({ key, path, base: b, mine: x, theirs: y });
    }
  }
  const both = new Set(conflicts.map(conflictId));
  return {
    conflicts,
    mine: only(changesOf(base, mine), both),
    theirs: only(changesOf(base, theirs), both),
  };
}

function only(changes: StepChange[], conflicts: Set<string>): StepChange[] {
  return changes
    .filter((change) => !conflicts.has(`${change.key} `))
    .map((change) => ({
      ...change,
      fields: change.fields.filter((field) => !conflicts.has(`${change.key} ${field.path}`)),
    }))
    .filter((change) => change.kind !== "changed" || change.fields.length > 0);
}

export type Choices = Record<string, "mine" | "theirs">;

/** Puts both together. What both changed is as chosen; mine without a choice. Nothing is dropped. */
export function merge(base: Doc, drawn: Doc, theirs: Doc, choices: Choices): Doc {
  const mine = apart(base, drawn, theirs);
  const [o, m, t] = [index(base), index(mine), index(theirs)];
  const whole = (key: string) => choices[`${key} `] ?? "mine";
  const steps: Step[] = [];
  for (const key of [...new Set([...m.keys(), ...t.keys()])]) {
    const [was, my, their] = [o.get(key), m.get(key), t.get(key)];
    if (my && their) steps.push(build(key, mergeFields(key, was ?? new Map(), my, their, choices)));
    else if (!was) steps.push(build(key, (my ?? their) as Fields));
    else {
      const left = (my ?? their) as Fields;
      const changed = compare(was, left).some((change) => change.path !== "position");
      if (changed && whole(key) === (my ? "mine" : "theirs")) steps.push(build(key, left));
    }
  }
  const known = new Set(steps.map((step) => step.key));
  for (const step of steps)
    if (step.needs) step.needs = step.needs.filter((need) => known.has(need));
  return { steps, comments: mergeComments(base, mine, theirs) };
}

function mergeFields(
  key: string,
  was: Fields,
  my: Fields,
  their: Fields,
  choices: Choices,
): Fields {
  const out: Fields = new Map();
  for (const path of new Set([...my.keys(), ...their.keys()])) {
    const [b, x, y] = [was.get(path), my.get(path), their.get(path)];
    let value = same(x, b) ? y : x;
    if (path === "needs") value = mergeLists(b, x, y);
    else if (!same(x, y) && !same(x, b) && !same(y, b) && path !== "position")
      value = choices[`${key} ${path}`] === "theirs" ? y : x;
    if (value !== undefined) out.set(path, value);
  }
  return out;
}

/** Edges are a set: what either added is there, what either removed is not. */
function mergeLists(base: unknown, mine: unknown, theirs: unknown): string[] | undefined {
  const [b, x, y] = [base, mine, theirs].map((list) => (list ?? []) as string[]);
  const kept = (list?: string[]) => new Set(list ?? []);
  const [inB, inX, inY] = [kept(b), kept(x), kept(y)];
  const all = [...new Set([...inX, ...inY])].filter((need) =>
    inB.has(need) ? inX.has(need) && inY.has(need) : true,
  );
  return all.length > 0 ? all : undefined;
}

/**
 * Comments have no names: the same words for the same time are one. Those of both are kept, but for
 * what one deleted and the other left; the same words at two places, new on both sides, are two.
 */
function mergeComments(base: Doc, mine: Doc, theirs: Doc): Comment[] {
  const [b, x, y] = [base, mine, theirs].map(byWords) as [Words, Words, Words];
  return [...new Set([...x.keys(), ...y.keys()])].flatMap((key) => {
    const [was, my, their] = [b.get(key), x.get(key), y.get(key)];
    if (!my || !their) return was ? [] : ((my ?? their) as Comment);
    if (was) return same(my, was) ? their : my;
    return same(my, their) ? my : [my, their];
  });
}

type Words = Map<string, Comment>;

function byWords(doc: Doc): Words {
  const seen = new Map<string, number>();
  return new Map(
    doc.comments.map((one) => {
      const time = seen.get(one.text) ?? 0;
      seen.set(one.text, time + 1);
      return [`${time} ${one.text}`, one];
    }),
  );
}

/** An older drawing of mine with what they changed meanwhile. What both changed is theirs. */
export function rebase(base: Doc, old: Doc, theirs: Doc): Doc {
  const { conflicts } = threeWay(base, old, theirs);
  const choices = conflicts.map((one) => [conflictId(one), "theirs"] as const);
  return merge(base, old, theirs, Object.fromEntries(choices));
}
