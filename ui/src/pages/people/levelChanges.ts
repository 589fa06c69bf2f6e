import type { Deployment, Schemas } from "@/api/client";
import { levelOf, type Target } from "./grants";

type Team = Schemas["Team"];
type User = Schemas["User"];
export type Level = Schemas["Grant"]["level"] | "none";

/** People whose access level on the target changes in the same way. */
export type Shift = { before: Level; after: Level; people: string[] };

const RANK: Record<Level, number> = { none: 0, read: 1, full: 2 };

/** Whether a change only gives: nobody loses by it, and it can be taken back. */
export const isGift = (before: Level, after: Level) => RANK[after] > RANK[before];

const higherLevel = (one: Level, other: Level) => (RANK[one] >= RANK[other] ? one : other);

/** The highest level that a person's teams have on the target. */
function levelFor(person: string, teams: Team[], target: Target): Level {
  return teams
    .filter((team) => team.members.includes(person))
    .map((team) => levelOf(team.grants, target))
    .reduce<Level>(higherLevel, "none");
}

/**
 * Who gains or loses access when a team's level on a target changes. Grants of other teams stay;
 * admins and disabled users are not affected. Losses come first, the greatest first.
 */
export function shiftsOf(
  change: { team: Team; target: Target; level: Level },
  teams: Team[],
  users: User[],
): Shift[] {
  const { team, target, level } = change;
  const others = teams.filter((one) => one.name !== team.name);
  const untouched = new Set(
    users.filter((one) => one.role === "admin" || !one.active).map((one) => one.name),
  );
  const by = new Map<string, Shift>();
  for (const person of team.members) {
    const rest = levelFor(person, others, target);
    const before = higherLevel(rest, levelOf(team.grants, target));
    const after = higherLevel(rest, level);
    if (before === after || untouched.has(person)) continue;
    const key = `${before} ${after}`;
    const shift = by.get(key) ?? { before, after, people: [] };
    by.set(key, { ...shift, people: [...shift.people, person] });
  }
  const gain = ({ before, after }: Shift) => RANK[after] - RANK[before];
  return [...by.values()].sort((a, b) => gain(a) - gain(b));
}

/** How many of those who lose something made deployments there, which stay. */
export function makersAmong(shifts: Shift[], deployments: Deployment[], target: Target): number {
  const losers = new Set(
    shifts
      .filter(({ before, after }) => RANK[after] < RANK[before])
      .flatMap(({ people }) => people),
  );
  const there = deployments.filter((one) =>
    target.project ? one.project === target.project : one.environment === target.environment,
  );
  return new Set(there.map((one) => one.created_by).filter((who) => losers.has(who))).size;
}
