import type { Schemas } from "@/api/client";

type Grant = Schemas["Grant"];

/** What a grant is on: one of the two. */
export type Target = { project?: string; environment?: string };

export const nameOf = (target: Target) => target.project ?? target.environment ?? "";

const same = (one: Target, other: Target) =>
  one.project === other.project && one.environment === other.environment;

/** The level a team has by itself on the target. */
export function levelOf(grants: Grant[], target: Target): Grant["level"] | "none" {
  return grants.find((one) => same(one, target))?.level ?? "none";
}

/** A grant as a form holds and says it: "project shop: full". */
export const grantLine = ({ project, environment, level }: Grant) =>
  `${project ? "project" : "environment"} ${project ?? environment}: ${level}`;

export function grantOf(line: string): Grant {
  const [, kind, name = "", level] = /^(project|environment) (.+): (read|full)$/.exec(line) ?? [];
  const on = kind === "project" ? { project: name } : { environment: name };
  return { ...on, level: level === "full" ? "full" : "read" };
}

/** The grants with another level on one target; every other grant stays. */
export function withLevel(grants: Grant[], target: Target, level: string): Grant[] {
  const others = grants.filter((one) => !same(one, target));
  const { project, environment } = target;
  const on = project ? { project } : { environment };
  return level === "read" || level === "full" ? [...others, { ...on, level }] : others;
}
