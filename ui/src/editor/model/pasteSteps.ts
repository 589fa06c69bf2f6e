import type { Clip } from "./clipboard";
import { type Comment, type Doc, type Step, withoutCatalogueCopy } from "./document";
import { commentId, freeKey, renameInStep, withNeeds } from "./edit";
import { isGroup } from "./groups";
import { type Landing, placeCopies } from "./pastePlacement";
import { findInvalidField } from "./validateClip";

type Read = Pick<Clip, "steps" | "comments"> | { wrong: string };

/**
 * What was copied, where it is not as steps have to be, or undefined for anything else that is in a
 * clipboard. A pipeline is taken too.
 */
export function parseClip(text: string): Read | undefined {
  let read: Partial<Clip> | null;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { steps, comments } = { steps: read?.steps ?? [], comments: read?.comments ?? [] };
  if (!Array.isArray(steps) || !Array.isArray(comments)) return undefined;
  const ours = read?.nullops === "pipeline-steps" || steps.some(isStep);
  if (!ours || steps.length + comments.length === 0) return undefined;
  const wrong = findInvalidField({ steps, comments }) ?? findInvalidStep(steps);
  return wrong ? { wrong } : { steps, comments };
}

function isStep(step: unknown): step is Step {
  const one = step as Step | null;
  return Boolean(one?.key && (one.service ?? one.job ?? one.plugin ?? one.approval ?? one.script));
}

function findInvalidStep(steps: Step[]): string | undefined {
  const at = steps.findIndex((step) => !isStep(step));
  return at < 0 ? undefined : `steps[${at}]`;
}

/**
 * Adds copied steps to what is there. Names that are taken get a number, and edges and references
 * among the copies lead to the copies; those to others stay if the others are here.
 */
export function pasteSteps(
  doc: Doc,
  text: string,
  landing: Landing,
): { doc: Doc; ids: Set<string> } | { wrong: string } | undefined {
  const clip = parseClip(text);
  if (!clip || "wrong" in clip) return clip;
  const { keys, names } = nameCopies(doc, clip.steps);
  const [taken, here] = [new Set(keys), new Set(doc.steps.map((step) => step.key))];
  const copied = clip.steps.map((step, i) => {
    const next = { ...renameInStep(withoutCatalogueCopy(step), names), key: keys[i] ?? step.key };
    const kept = (next.needs ?? []).filter((need) => here.has(need) || taken.has(need));
    return withNeeds(next, kept);
  });
  const comments = clip.comments.flatMap((one) => copyMembers(one, names));
  // A frame is where its steps are.
  const [frames, notes] = [comments.filter(isGroup), comments.filter((one) => !isGroup(one))];
  const landed = placeCopies<Step | Comment>([...copied, ...notes], doc, landing);
  const steps = landed.slice(0, copied.length) as Step[];
  const said = [...(landed.slice(copied.length) as Comment[]), ...frames];
  const first = doc.comments.length;
  const ids = new Set([...taken, ...said.map((_, i) => commentId(first + i))]);
  return {
    doc: { ...doc, steps: [...doc.steps, ...steps], comments: [...doc.comments, ...said] },
    ids,
  };
}

/** A copied group frames the copies of its steps; without one, it is not copied. */
function copyMembers(comment: Comment, names: Map<string, string>): Comment[] {
  if (!comment.steps) return [comment];
  const steps = comment.steps.flatMap((key) => names.get(key) ?? []);
  return steps.length > 0 ? [{ ...comment, steps }] : [];
}

/** A name for each copy. What refers to a name that two have means the first. */
function nameCopies(doc: Doc, steps: Step[]) {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const keys = steps.map((step) => {
    const key = freeKey(doc, step.key, taken);
    taken.add(key);
    if (!names.has(step.key)) names.set(step.key, key);
    return key;
  });
  return { keys, names };
}
