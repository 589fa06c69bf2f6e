/** Named groups: a comment that names steps is drawn as a frame around them. */
import type { Comment, Doc, Spot } from "./document";
import { addComment, commentId } from "./edit";
import { withoutMembers } from "./members";

export type Group = Comment & { steps: string[] };

export function isGroup(comment: Comment): comment is Group {
  return (comment.steps?.length ?? 0) > 0;
}

/** Frames these steps. Each step is in one group at most, and a group that nothing is left of goes. */
export function groupSteps(doc: Doc, ids: Set<string>, position: Spot): { doc: Doc; id: string } {
  const steps = doc.steps.map((step) => step.key).filter((key) => ids.has(key));
  const left = { ...doc, comments: withoutMembers(doc.comments, new Set(steps)) };
  const next = addComment(left, { text: "", position, steps });
  return { doc: next, id: commentId(next.comments.length - 1) };
}

/** The items that move when these are moved: with a frame, the steps in it. */
export function withMembers(doc: Doc, ids: Set<string>): Set<string> {
  const members = doc.comments.flatMap((one, at) =>
    ids.has(commentId(at)) ? (one.steps ?? []) : [],
  );
  return members.length > 0 ? new Set([...ids, ...members]) : ids;
}
