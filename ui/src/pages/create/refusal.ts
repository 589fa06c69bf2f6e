import { ApiError, type Problem, type Schemas } from "@/api/client";
import { describeError } from "@/components/States";

type Check = Schemas["PreflightCheck"];

/** A field of the sheet at which a refusal can stand. */
export type FieldKey =
  | "name"
  | "project"
  | "environment"
  | "deadline"
  | "labels"
  | `versions.${string}`
  | `input.${string}`;

/**
 * What stands in the way of creating, each once: at its field, or in the list of what has none. All
 * that refuses comes through here: the form itself, the checks and the API.
 */
export type Refusal = {
  fields: Partial<Record<FieldKey, string>>;
  /** What belongs to no field. */
  rest: string[];
  placement: NonNullable<Problem["placement"]>;
  request?: string;
};

export const nothingRefused: Refusal = { fields: {}, rest: [], placement: [] };

/** What the sheet has fields for, besides those of every sheet. */
export type Shown = { steps: string[]; inputs: string[] };

/** Puts each problem of an answer at its field; nothing the server said is left out. */
export function sortRefusal(error: unknown, shown: Shown): Refusal {
  const { message, request } = describeError(error);
  const out: Refusal = { fields: {}, rest: [], placement: [], request };
  if (!(error instanceof ApiError)) return { ...out, rest: [message] };
  const { problem } = error;
  out.placement = problem.placement ?? [];
  const several = problem.problems ?? [];
  const all = several.length > 0 ? several : [{ field: problem.field, message, step: undefined }];
  for (const one of all) {
    const key = findField(one.field, one.step, shown);
    if (key) out.fields[key] = one.message;
    else out.rest.push(one.message);
  }
  return out;
}

/** Puts what the checks would refuse at its field; `open` has no field, and stays in their list. */
export function sortChecks(failed: Check[], shown: Shown) {
  const fields: Refusal["fields"] = {};
  const open: Check[] = [];
  for (const check of failed) {
    const key = findField(check.field, check.subject, shown);
    const said = [check.message, check.remedy].filter(Boolean).join(" ");
    if (key) fields[key] ??= said;
    else open.push(check);
  }
  return { fields, open };
}

/** Everything that stands in the way now. What the API refused is not said again by the checks. */
export function gatherRefusals(
  local: Refusal | undefined,
  error: unknown,
  failed: Check[],
  shown: Shown,
) {
  const checked = sortChecks(failed, shown);
  const refused = error ? sortRefusal(error, shown) : (local ?? nothingRefused);
  const code = error instanceof ApiError ? error.problem.code : undefined;
  const refusal: Refusal = { ...refused, fields: { ...checked.fields, ...refused.fields } };
  return { refusal, open: checked.open.filter((one) => !code || one.code !== code) };
}

function findField(
  field: string | undefined,
  step: string | undefined,
  { steps, inputs }: Shown,
): FieldKey | undefined {
  const name = (field ?? "").replace(/^(body\.|\$\.|\/)/, "").replaceAll("/", ".");
  const version = /^versions\.(.+)$/.exec(name)?.[1] ?? (name === "versions" ? step : undefined);
  if (version) return steps.includes(version) ? `versions.${version}` : undefined;
  const input = /^input\.(.+)$/.exec(name)?.[1];
  if (input) return inputs.includes(input) ? `input.${input}` : undefined;
  if (name === "deadline_seconds") return "deadline";
  if (name.startsWith("required_labels")) return "labels";
  return name === "name" || name === "project" || name === "environment" ? name : undefined;
}

/** How many things there are to mend. */
export const countRefusals = ({ fields, rest }: Refusal): number =>
  Object.keys(fields).length + rest.length;
