import { describeKind } from "./catalogue";
import type { Doc, Step } from "./document";

/** The steps in which a text is written: in their name, their kind, or any of their fields. */
export function findSteps(doc: Doc, text: string): string[] {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return doc.steps.flatMap((step) => {
    const written = textOf(step);
    return words.every((word) => written.includes(word)) ? step.key : [];
  });
}

function textOf(step: Step): string {
  const { position: _, needs: __, ...written } = step;
  const parts: string[] = [describeKind(step)];
  JSON.stringify(written, (name, value) => {
    if (name) parts.push(name);
    if (typeof value !== "object") parts.push(String(value));
    return value;
  });
  return parts.join("\n").toLowerCase();
}
