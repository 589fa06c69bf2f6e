import { wrongIn } from "./clipShape";
import { commentId, freeKey, renamed, withNeeds } from "./edit";
import { bare, type Comment, type Doc, type Spot, type Step } from "./model";

/** What copying writes: readable, and the same in every project. */
type Clip = { nullops: "pipeline-steps"; steps: Step[]; comments: Comment[] };

export function copy(doc: Doc, ids: Set<string>): string {
  const clip: Clip = {
    nullops: "pipeline-steps",
    steps: doc.steps.filter((step) => ids.has(step.key)).map(bare),
    comments: doc.comments.filter((_, i) => ids.has(commentId(i))),
  };
  return JSON.stringify(clip, null, 2);
}

type Read = Pick<Clip, "steps" | "comments"> | { wrong: string };

/**
 * What was copied, where it is not as steps have to be, or undefined for anything else that is in a
 * clipboard. A pipeline is taken too.
 */
export function clipOf(text: string): Read | undefined {
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
  const wrong = wrongIn({ steps, comments }) ?? kindless(steps);
  return wrong ? { wrong } : { steps, comments };
}

function isStep(step: unknown): step is Step {
  const one = step as Step | null;
  return Boolean(one?.key && (one.service ?? one.plugin ?? one.approval));
}

function kindless(steps: Step[]): string | undefined {
  const at = steps.findIndex((step) => !isStep(step));
  return at < 0 ? undefined : `steps[${at}]`;
}

/**
 * Adds copied steps beside what is there. Names that are taken get a number, and edges and
 * references among the copies lead to the copies; those to others stay if the others are here.
 */
export function paste(
  doc: Doc,
  text: string,
  by: Spot,
): { doc: Doc; ids: Set<string> } | { wrong: string } | undefined {
  const clip = clipOf(text);
  if (!clip || "wrong" in clip) return clip;
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const step of clip.steps) {
    const key = freeKey(doc, step.key, taken);
    taken.add(key);
    names.set(step.key, key);
  }
  const here = new Set(doc.steps.map((step) => step.key));
  const steps = clip.steps.map((step) => {
    const next = renamed(bare(step), names);
    const kept = withNeeds(
      next,
      (next.needs ?? []).filter((n) => here.has(n) || taken.has(n)),
    );
    return shifted(kept, by);
  });
  const comments = clip.comments.map((comment) => shifted(comment, by));
  const first = doc.comments.length;
  const ids = new Set([...taken, ...comments.map((_, i) => commentId(first + i))]);
  return {
    doc: { steps: [...doc.steps, ...steps], comments: [...doc.comments, ...comments] },
    ids,
  };
}

function shifted<T extends { position?: Spot }>(item: T, by: Spot): T {
  const at = item.position ?? { x: 0, y: 0 };
  return { ...item, position: { x: at.x + by.x, y: at.y + by.y } };
}
