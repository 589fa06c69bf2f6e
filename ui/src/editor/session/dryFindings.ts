import type { Schemas } from "@/api/client";
import { canonical, type Doc, type Step } from "../model/document";
import { listStrings, refsOf } from "../model/expressions";
import type { Problem } from "../model/problems";

type Check = Schemas["PreflightCheck"];

/** What a dry run of one drawing found. It says nothing of another drawing. */
export type DryRunResult = { doc: Doc; checks: Check[]; problems: Problem[]; passed: Set<string> };

/** Whether two drawings run as one: where a step stands, and what is said beside it, does nothing. */
export function hasSameRun(a: Doc, b: Doc): boolean {
  return (
    a.steps.length === b.steps.length &&
    a.steps.every((step, i) => step === b.steps[i] || unplaced(step) === unplaced(b.steps[i]))
  );
}

function unplaced({ position: _, ...step }: Partial<Step> = {}): string {
  return canonical(step);
}

/** These checks run last: if one of them reports, every step has been checked. */
const LAST = new Set(["capacity", "address", "disk"]);

/** A step passes when everything was looked at and nothing is against it, or unknown of it. */
export function resultOf(doc: Doc, checks: Check[]): DryRunResult {
  const open = checks.filter((check) => check.state !== "ok");
  const problems = open
    .filter((check) => check.state === "failed")
    .flatMap((check) => stepsOf(check, doc).map((step) => problemOf(check, step)));
  const spoken = new Set(open.flatMap((check) => stepsOf(check, doc)));
  const whole = checks.some((check) => LAST.has(check.id));
  const passed = doc.steps.map((step) => step.key).filter((key) => whole && !spoken.has(key));
  return { doc, checks, problems, passed: new Set(passed) };
}

/** The steps that a check is about: those that read a secret, when it is about that. */
export function stepsOf(check: Check, doc: Doc): (string | undefined)[] {
  const named = doc.steps.filter((step) =>
    check.id === "secret" ? readsSecret(step, check.subject) : step.key === check.subject,
  );
  const about = check.id === "project" || check.id === "environment" ? [] : named;
  return about.length > 0 ? about.map((step) => step.key) : [undefined];
}

function readsSecret(step: Step, secret?: string): boolean {
  return listStrings(
    { ...step.service, ...step.job, ...step.plugin, ...step.approval, ...step.script },
    "",
  )
    .flatMap(({ text }) => refsOf(text))
    .some((ref) => ref.scope === "secrets" && ref.name === secret);
}

function problemOf(check: Check, step?: string): Problem {
  return {
    step,
    field: (check.field ?? check.id).replace(/^pipeline\./, ""),
    code: check.code ?? check.id,
    message: [check.message, check.remedy].filter(Boolean).join(" "),
  };
}
