import { type Comment, type Doc, type Step, withoutCatalogueCopy } from "./document";
import { commentId } from "./edit";

/** What copying writes: readable, and the same in every project. */
export type Clip = { nullops: "pipeline-steps"; steps: Step[]; comments: Comment[] };

export function copySteps(doc: Doc, ids: Set<string>): string {
  const clip: Clip = {
    nullops: "pipeline-steps",
    steps: doc.steps.filter((step) => ids.has(step.key)).map(withoutCatalogueCopy),
    comments: doc.comments.filter((_, i) => ids.has(commentId(i))),
  };
  return JSON.stringify(clip, null, 2);
}
