import { type Aligned, alignSteps } from "./alignSteps";
import {
  type Comment,
  type Doc,
  docOf,
  type InputField,
  inputOf,
  pipelineOf,
  type Step,
  sameDoc,
  withoutCatalogueCopy,
} from "./document";
import { commentId } from "./edit";
import {
  buildStep,
  type Change,
  compareFields,
  type Fields,
  fieldsOf,
  isSameValue,
} from "./stepFields";

export type StepChange = { key: string; kind: "added" | "removed" | "changed"; fields: Change[] };

/**
 * The differences between two documents, step by step. Positions do not count; `of` selects the
 * part of a step to compare.
 */
export function changesOf(
  old: Doc,
  now: Doc,
  of: (step: Step) => Step = withoutCatalogueCopy,
): StepChange[] {
  // Documents are immutable, so an identical object has no differences.
  const [before, after] = [new Set(old.steps), new Set(now.steps)];
  const a = fieldsByKey({ ...old, steps: old.steps.filter((step) => !after.has(step)) }, of);
  const b = fieldsByKey({ ...now, steps: now.steps.filter((step) => !before.has(step)) }, of);
  const keys = [...new Set([...a.keys(), ...b.keys()])].sort();
  return keys.flatMap<StepChange>((key) => {
    const [was, is] = [a.get(key), b.get(key)];
    if (!was) return { key, kind: "added", fields: [] };
    if (!is) return { key, kind: "removed", fields: [] };
    const fields = compareFields(was, is).filter((change) => change.path !== "position");
    return fields.length > 0 ? { key, kind: "changed", fields } : [];
  });
}

function fieldsByKey(doc: Doc, of = withoutCatalogueCopy): Map<string, Fields> {
  return new Map(doc.steps.map((step) => [step.key, fieldsOf(of(step))]));
}

/** A field that both sides changed differently. Without a path it is the whole step. */
export type Conflict = {
  key: string;
  path?: string;
  base: unknown;
  mine: unknown;
  theirs: unknown;
};
export type Merged = {
  conflicts: Conflict[];
  /** Changes that only my side or only their side made. */
  mine: StepChange[];
  theirs: StepChange[];
};

export function conflictId(conflict: Conflict): string {
  return `${conflict.key} ${conflict.path ?? ""}`;
}

/** Compares two documents with their common base. */
export function threeWay(first: Doc, drawn: Doc, other: Doc): Merged {
  const { base, mine, theirs, byMe, byThem } = alignSteps(first, drawn, other);
  const conflicts: Conflict[] = [];
  const [o, m, t] = [fieldsByKey(base), fieldsByKey(mine), fieldsByKey(theirs)];
  for (const key of new Set([...o.keys(), ...m.keys(), ...t.keys()])) {
    const [was, my, their] = [o.get(key), m.get(key), t.get(key)];
    const [myTree, theirTree, baseTree] = [my, their, was].map((f) => f && Object.fromEntries(f));
    if (!my || !their) {
      // One side removed what the other changed.
      const left = my ?? their;
      const lost =
        was && left && compareFields(was, left).some((change) => change.path !== "position");
      if (lost) conflicts.push({ key, base: baseTree, mine: myTree, theirs: theirTree });
      continue;
    }
    for (const path of new Set([...my.keys(), ...their.keys()])) {
      if (path === "position" || path === "needs") continue;
      const [b, x, y] = [was?.get(path), my.get(path), their.get(path)];
      if (!isSameValue(x, y) && !isSameValue(x, b) && !isSameValue(y, b))
        conflicts.push({ key, path, base: b, mine: x, theirs: y });
    }
  }
  const both = new Set(conflicts.map(conflictId));
  return {
    conflicts,
    mine: withNames(withoutConflicts(changesOf(base, mine), both), byMe),
    theirs: withNames(withoutConflicts(changesOf(base, theirs), both), byThem),
  };
}

/** Says of a step that was renamed what it was called: the three are compared by one name. */
function withNames(changes: StepChange[], names: Map<string, string>): StepChange[] {
  const all = new Map(changes.map((one) => [one.key, one]));
  for (const [old, now] of names) {
    const fields = [{ path: "key", old, now }, ...(all.get(now)?.fields ?? [])];
    all.set(now, { key: now, kind: "changed", fields });
  }
  return [...all.values()];
}

function withoutConflicts(changes: StepChange[], conflicts: Set<string>): StepChange[] {
  return changes
    .filter((change) => !conflicts.has(`${change.key} `))
    .map((change) => ({
      ...change,
      fields: change.fields.filter((field) => !conflicts.has(`${change.key} ${field.path}`)),
    }))
    .filter((change) => change.kind !== "changed" || change.fields.length > 0);
}

export type Choices = Record<string, "mine" | "theirs">;

/** Merges both sides. Conflicts follow `choices`, and are mine without a choice. */
export function merge(first: Doc, drawn: Doc, other: Doc, choices: Choices): Doc {
  // Without edits here take their document, including its order, so that both windows end up equal.
  if (sameDoc(first, drawn)) return docOf(pipelineOf(other));
  return mergeAligned(alignSteps(first, drawn, other), choices);
}

/**
 * Renames from my document to the merged `next`; a step or comment that is gone maps to nothing.
 * The selection follows these, so that it never jumps to another step that took the name.
 */
export function renamesIn(first: Doc, drawn: Doc, other: Doc, next: Doc): Map<string, string> {
  const { names } = alignSteps(first, drawn, other);
  const all = new Map(names);
  const [mine, theirs] = [byWords(drawn), byWords(other)];
  for (const [key, my] of mine) {
    const at = drawn.comments.indexOf(my);
    const now = next.comments.findIndex((one) => one === my || one === theirs.get(key));
    if (at !== now) all.set(commentId(at), now < 0 ? "" : commentId(now));
  }
  return all;
}

function mergeAligned({ base, mine, theirs }: Aligned, choices: Choices): Doc {
  const [o, m, t] = [fieldsByKey(base), fieldsByKey(mine), fieldsByKey(theirs)];
  const whole = (key: string) => choices[`${key} `] ?? "mine";
  const steps: Step[] = [];
  for (const key of [...new Set([...m.keys(), ...t.keys()])]) {
    const [was, my, their] = [o.get(key), m.get(key), t.get(key)];
    if (my && their)
      steps.push(buildStep(key, mergeFields(key, was ?? new Map(), my, their, choices)));
    else if (!was) steps.push(buildStep(key, (my ?? their) as Fields));
    else {
      const left = (my ?? their) as Fields;
      const changed = compareFields(was, left).some((change) => change.path !== "position");
      if (changed && whole(key) === (my ? "mine" : "theirs")) steps.push(buildStep(key, left));
    }
  }
  const known = new Set(steps.map((step) => step.key));
  for (const step of steps)
    if (step.needs) step.needs = step.needs.filter((need) => known.has(need));
  return { steps, comments: mergeComments(base, mine, theirs), ...mergeInput(base, mine, theirs) };
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
    let value = isSameValue(x, b) ? y : x;
    if (path === "needs") value = mergeLists(b, x, y);
    else if (!isSameValue(x, y) && !isSameValue(x, b) && !isSameValue(y, b) && path !== "position")
      value = choices[`${key} ${path}`] === "theirs" ? y : x;
    if (value !== undefined) out.set(path, value);
  }
  return out;
}

/** Edges merge as a set: additions and removals of both sides apply. */
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
 * Comments have no key, so equal texts (the nth of each) are one comment. Both sides' comments are
 * kept, except those of the base that one side deleted. A text that both sides added at different
 * positions counts as two.
 */
function mergeComments(base: Doc, mine: Doc, theirs: Doc): Comment[] {
  const [b, x, y] = [base, mine, theirs].map(byWords) as [Words, Words, Words];
  return [...new Set([...x.keys(), ...y.keys()])].flatMap((key) => {
    const [was, my, their] = [b.get(key), x.get(key), y.get(key)];
    if (!my || !their) return was ? [] : ((my ?? their) as Comment);
    if (was) return isSameValue(my, was) ? their : my;
    return isSameValue(my, their) ? my : [my, their];
  });
}

/** Fields of the input go by their names. One that both sides changed is mine. */
function mergeInput(base: Doc, mine: Doc, theirs: Doc): Pick<Doc, "input"> {
  const [b, x, y] = [base, mine, theirs].map(
    ({ input = [] }) => new Map(input.map((one) => [one.name, one])),
  ) as [Inputs, Inputs, Inputs];
  return inputOf(
    [...new Set([...x.keys(), ...y.keys()])].flatMap((name) => {
      const my = x.get(name);
      return (isSameValue(my, b.get(name)) ? y.get(name) : my) ?? [];
    }),
  );
}

type Inputs = Map<string, InputField>;

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

/** Applies their changes to an older document of mine. On conflict theirs wins. */
export function rebase(base: Doc, old: Doc, theirs: Doc): Doc {
  const { conflicts } = threeWay(base, old, theirs);
  const choices = conflicts.map((one) => [conflictId(one), "theirs"] as const);
  return merge(base, old, theirs, Object.fromEntries(choices));
}
