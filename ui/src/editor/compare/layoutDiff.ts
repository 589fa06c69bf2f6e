import { type Comment, canonical, type Doc, type Spot } from "../model/document";

/** What differs between two drawings besides what a run knows of. */
export type LayoutDiff = { comments: number; places: number; input: boolean };

export function diffLayout(old: Doc, now: Doc): LayoutDiff {
  const [was, is] = [commentsByText(old.comments), commentsByText(now.comments)];
  const gone = [...was].filter(([text]) => !is.has(text)).length;
  const came = [...is].filter(([text]) => !was.has(text)).length;
  const moved = [...is].filter(([text, one]) => was.has(text) && hasMoved(was.get(text), one));
  const steps = new Map(old.steps.map((step) => [step.key, step]));
  const placed = now.steps.filter(
    (step) => steps.has(step.key) && hasMoved(steps.get(step.key), step),
  );
  // A comment that was rewritten is one that went and one that came.
  const input = canonical(old.input ?? []) !== canonical(now.input ?? []);
  return { comments: Math.max(gone, came), places: moved.length + placed.length, input };
}

export function isEmptyDiff({ comments, places, input }: LayoutDiff): boolean {
  return comments === 0 && places === 0 && !input;
}

function commentsByText(comments: Comment[]): Map<string, Comment> {
  return new Map(comments.map((one) => [one.text, one]));
}

function hasMoved(a?: { position?: Spot }, b?: { position?: Spot }): boolean {
  return canonical(a?.position ?? null) !== canonical(b?.position ?? null);
}
