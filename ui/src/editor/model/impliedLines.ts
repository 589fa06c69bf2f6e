import { ancestorsOf } from "./catalogue";
import { type Doc, stepOf } from "./document";

/**
 * Whether the order of two steps follows from other lines: the later step also waits for one that
 * waits for the earlier. Such a line says nothing new.
 */
export function isImplied(doc: Doc, from: string, to: string): boolean {
  const before = ancestorsOf(doc);
  // In a circle each line follows from the others, and the one to remove must be seen.
  if (before.get(to)?.has(to)) return false;
  const needs = stepOf(doc, to)?.needs ?? [];
  return needs.some((need) => need !== from && before.get(need)?.has(from));
}
