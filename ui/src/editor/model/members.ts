/** The steps that a group's comment names. */
import type { Comment } from "./document";

/** Comments without these steps; a group of none is gone, with its name. */
export function withoutMembers(comments: Comment[], gone: Set<string>): Comment[] {
  if (!comments.some((one) => one.steps?.some((key) => gone.has(key)))) return comments;
  return comments.flatMap((one) => {
    if (!one.steps?.some((key) => gone.has(key))) return one;
    const steps = one.steps.filter((key) => !gone.has(key));
    return steps.length > 0 ? { ...one, steps } : [];
  });
}

/** Comments with the names of their steps replaced. */
export function renameMembers(comments: Comment[], names: Map<string, string>): Comment[] {
  if (!comments.some((one) => one.steps?.some((key) => names.has(key)))) return comments;
  return comments.map((one) =>
    one.steps ? { ...one, steps: one.steps.map((key) => names.get(key) ?? key) } : one,
  );
}
