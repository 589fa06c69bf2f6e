import type { Schemas } from "@/api/client";
import { levelOf } from "./grants";

type Team = Schemas["Team"];
type Grant = Schemas["Grant"];
type Explained = Schemas["AccessExplained"];

/** Deployments of a project in an environment, which may be one that needs a grant of its own. */
export type Pair = { project: string; environment: string; restricted: boolean };

/**
 * Why a person cannot create, from the API's explanations of both objects; undefined if they can.
 */
export function missingAccess(
  pair: Pair,
  of: Explained,
  on: Explained,
): "own" | "full" | "both" | undefined {
  const own = pair.restricted && on.level === "none";
  const full = of.level !== "full" && on.level !== "full";
  if (own && full) return "both";
  if (own) return "own";
  return full ? "full" : undefined;
}

/** Whether grants, put together, are enough to create. Only to say which team would do: the API decides. */
function isEnoughToCreate(grants: Grant[], { project, environment, restricted }: Pair): boolean {
  const on = levelOf(grants, { environment });
  return (!restricted || on !== "none") && [levelOf(grants, { project }), on].includes("full");
}

/** The teams whose membership alone would allow it. */
export function teamsThatHelp(person: string, teams: Team[], pair: Pair): string[] {
  const isIn = (team: Team) => team.members.includes(person);
  const own = teams.filter(isIn).flatMap((team) => team.grants);
  return teams
    .filter((team) => !isIn(team) && isEnoughToCreate(sortByLevel([...own, ...team.grants]), pair))
    .map((team) => team.name);
}

/** Full before Read, so that what is found first is the highest. */
const sortByLevel = (grants: Grant[]) =>
  [...grants].sort((a, b) => Number(b.level === "full") - Number(a.level === "full"));
