import { editorTexts } from "@/editor/editorTexts";
import { type Doc, readField, stepOf } from "../model/document";
import type { Problem } from "../model/problems";

/** What is typed in a field that cannot be read yet, and what the field held when it was begun. */
type Held = { step: string; path: string; text: string; why: string; over: string };

/**
 * Texts that are no value yet. They belong to the step, not to what shows it: who looks at another
 * step meanwhile finds them again, and nothing is published as if they had not been typed.
 */
export class UnparsedInputs {
  private held: readonly Held[] = [];
  private listeners = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  get = () => this.held;

  /** The text of a field; undefined where none is held, or the field has another value since. */
  text(step: string, path: string, over: string): string | undefined {
    return this.held.find((one) => isOf(one, step, path) && one.over === over)?.text;
  }

  hold(step: string, path: string, text: string, over: string) {
    const why = whyNot(text);
    this.set([
      ...this.without(step, path),
      ...(why === "" ? [] : [{ step, path, text, why, over }]),
    ]);
  }

  drop(step: string, path: string) {
    if (this.held.some((one) => isOf(one, step, path))) this.set(this.without(step, path));
  }

  rename(from: string, to: string) {
    this.set(this.held.map((one) => (one.step === from ? { ...one, step: to } : one)));
  }

  private without(step: string, path: string) {
    return this.held.filter((one) => !isOf(one, step, path));
  }

  private set(next: readonly Held[]) {
    this.held = next;
    for (const listener of this.listeners) listener();
  }
}

function isOf(one: Held, step: string, path: string): boolean {
  return one.step === step && one.path === path;
}

/** Why a text is no JSON; empty when it is. */
function whyNot(text: string): string {
  try {
    if (text.trim() !== "") JSON.parse(text);
    return "";
  } catch (error) {
    return editorTexts.step.jsonWrong(error instanceof Error ? error.message : "");
  }
}

/** A value as it is written in its field. */
export function formatJson(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** Those of what is drawn now. */
export function unparsedProblems(held: readonly Held[], doc: Doc): Problem[] {
  return held.flatMap((one) => {
    const at = stepOf(doc, one.step);
    return at && formatJson(readField(at, one.path)) === one.over ? unparsedProblem(one) : [];
  });
}

export function unparsedProblem({ step, path, why }: Held): Problem {
  return { step, field: path, code: "json", message: why };
}
