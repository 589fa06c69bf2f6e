import { describe, expect, it } from "vitest";
import type { Deployment, Schemas } from "@/api/client";
import { isGift, makersAmong, shiftsOf } from "./levelChanges";

const team = (name: string, members: string[], level?: "read" | "full"): Schemas["Team"] => ({
  name,
  members,
  grants: level ? [{ project: "shop", level }] : [],
});
const user = (name: string, more: object = {}) =>
  ({ name, role: "user", active: true, ...more }) as Schemas["User"];
const made = (created_by: string, project = "shop") =>
  ({ created_by, project, environment: "qa" }) as Deployment;

const target = { project: "shop" };

describe("the reach of a changed level", () => {
  const front = team("front", ["ada", "ben", "cem", "dora", "eve"], "full");
  const teams = [front, team("qa", ["ben"], "read"), team("ops", ["cem"], "full")];
  const users = [
    user("ada"),
    user("ben"),
    user("cem"),
    user("dora", { role: "admin" }),
    user("eve", { active: false }),
  ];
  const lost = shiftsOf({ team: front, target, level: "none" }, teams, users);

  it("leaves out who another team, the role or being switched off makes no difference for", () => {
    expect(lost).toEqual([
      { before: "full", after: "none", people: ["ada"] },
      { before: "full", after: "read", people: ["ben"] },
    ]);
  });
  it("counts those of the losers who have deployments there, each once", () => {
    const all = [made("ada"), made("ada"), made("ben", "blog"), made("cem")];
    expect(makersAmong(lost, all, target)).toBe(1);
    expect(makersAmong(lost, all, { environment: "qa" })).toBe(2);
  });
  it("tells of gains, which touch no deployment", () => {
    const qa = team("qa", ["ada", "ben"]);
    const got = shiftsOf({ team: qa, target, level: "full" }, [qa], []);
    expect(got).toEqual([{ before: "none", after: "full", people: ["ada", "ben"] }]);
    expect(makersAmong(got, [made("ada")], target)).toBe(0);
  });
});

it("asks before somebody loses, not before somebody gets", () => {
  expect([isGift("none", "read"), isGift("read", "full"), isGift("none", "full")]).toEqual([
    true,
    true,
    true,
  ]);
  expect([isGift("full", "read"), isGift("read", "none"), isGift("read", "read")]).toEqual([
    false,
    false,
    false,
  ]);
});
