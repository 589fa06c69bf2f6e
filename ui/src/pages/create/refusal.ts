import { ApiError, type Problem } from "@/api/client";
import { describeError } from "@/components/States";

/** A refused create, sorted to where a person can mend it. */
export type Refusal = {
  name?: string;
  project?: string;
  environment?: string;
  deadline?: string;
  labels?: string;
  /** By step key. */
  versions: Record<string, string>;
  /** By the name of the field. */
  input?: Record<string, string>;
  /** What belongs to no field. */
  rest: string[];
  placement: NonNullable<Problem["placement"]>;
  request?: string;
};

export const nothingRefused: Refusal = { versions: {}, rest: [], placement: [] };

/** Puts each problem of an answer at its field; nothing the server said is left out. */
export function sortRefusal(error: unknown): Refusal {
  const { message, request } = describeError(error);
  const out: Refusal = { versions: {}, rest: [], placement: [], request };
  if (!(error instanceof ApiError)) return { ...out, rest: [message] };
  const { problem } = error;
  out.placement = problem.placement ?? [];
  const several = problem.problems ?? [];
  for (const one of several) place(out, one.field, one.message, one.step);
  if (several.length === 0) place(out, problem.field, message);
  return out;
}

function place(out: Refusal, field: string | undefined, message: string, step?: string) {
  const name = (field ?? "").replace(/^(body\.|\$\.|\/)/, "").replaceAll("/", ".");
  const version = /^versions\.(.+)$/.exec(name)?.[1] ?? (name === "versions" ? step : undefined);
  const input = /^input\.(.+)$/.exec(name)?.[1];
  if (input) out.input = { ...out.input, [input]: message };
  else if (version) out.versions[version] = message;
  else if (name === "deadline_seconds") out.deadline = message;
  else if (name.startsWith("required_labels")) out.labels = message;
  else if (name === "name" || name === "project" || name === "environment") out[name] = message;
  else out.rest.push(message);
}

/** How many things there are to mend. */
export function countRefusals(refusal: Refusal): number {
  const { name, project, environment, deadline, labels } = refusal;
  const fields = [name, project, environment, deadline, labels].filter(Boolean).length;
  const listed = [refusal.versions, refusal.input ?? {}].flatMap(Object.keys);
  return fields + listed.length + refusal.rest.length;
}
