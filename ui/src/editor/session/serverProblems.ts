import { ApiError, type Problem as Refusal } from "@/api/client";
import { editorTexts } from "@/editor/editorTexts";
import type { Doc } from "../model/document";
import type { Problem } from "../model/problems";
import { shortField } from "../model/stepFields";

const t = editorTexts.panel;

/**
 * The problems of the document that a refusal names; empty if the refusal is about something else,
 * such as access. The server validates a body against its schema first and reports such problems by
 * their path in the body.
 */
export function problemsOfRefusal(error: unknown, doc: Doc): Problem[] {
  if (!(error instanceof ApiError) || error.status >= 500) return [];
  const { field, problems = [], code, detail, title } = error.problem;
  const all =
    problems.length > 0 ? problems : [{ field: field ?? "", code, message: detail ?? title }];
  return all.filter((one) => one.field !== "").map((one) => locateProblem(one, doc));
}

type Said = NonNullable<Refusal["problems"]>[number];

/** `pipeline.steps.3.service.ports.0.port` is the port of the fourth step's first port. */
function locateProblem({ field, code, message, step }: Said, doc: Doc): Problem {
  const [, index, rest = ""] = /^(?:pipeline\.)?steps\.(\d+)(?:\.(.*))?$/.exec(field) ?? [];
  return {
    step: step || (index === undefined ? undefined : doc.steps[Number(index)]?.key),
    field: index === undefined ? field.replace(/^pipeline\./, "") : bracketIndexes(rest),
    code,
    message,
  };
}

/** Writes list indexes as problems do: ports.0 → ports[0]. */
function bracketIndexes(path: string): string {
  return path.replace(/\.(\d+)(?=\.|$)/g, "[$1]");
}

/** Field and message in one line. */
export function describeProblem({ step, field, message }: Problem): string {
  return t.placed(step ?? t.whole, shortField(field), message);
}
