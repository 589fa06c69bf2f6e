import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { missingAccess, teamsThatHelp } from "./missingAccess";

const said = (level: "none" | "read" | "full") => ({ object: "", level, because: [], ask: [] });
const open = { project: "shop", environment: "qa", restricted: false };
const shut = { project: "shop", environment: "pay", restricted: true };

it.each([
  [open, "full", "none", undefined],
  [open, "none", "full", undefined],
  [open, "read", "read", "full"],
  [shut, "full", "none", "own"],
  [shut, "full", "read", undefined],
  [shut, "read", "none", "both"],
  [shut, "read", "read", "full"],
] as const)("%o with %s on the project and %s on the environment", (pair, of, on, wanted) => {
  expect(missingAccess(pair, said(of), said(on))).toBe(wanted);
});

it("names the teams that alone would be enough", () => {
  const team = (name: string, members: string[], grants: Schemas["Grant"][]) => ({
    name,
    members,
    grants,
  });
  const teams = [
    team("front", ["priya"], [{ project: "shop", level: "full" }]),
    team("payers", [], [{ environment: "pay", level: "read" }]),
    team("qa", [], [{ environment: "qa", level: "read" }]),
    team("leads", [], [{ environment: "pay", level: "full" }]),
  ];
  expect(teamsThatHelp("priya", teams, shut)).toEqual(["payers", "leads"]);
  expect(teamsThatHelp("ada", teams, shut)).toEqual(["leads"]);
  expect(teamsThatHelp("ada", teams, open)).toEqual(["front"]);
});
