import { expect, it } from "vitest";
import type { CreateSearch } from "./search";
import {
  type Clone,
  type Environment,
  environmentsFor,
  type Project,
  resolveTarget,
  whyNoTarget,
} from "./target";

const projects = [
  { name: "bank", pipeline_version: 2, can_create: false },
  { name: "shop", pipeline_version: 1, can_create: true },
  { name: "draft" },
] as Project[];
const environments = [
  { name: "eu", can_create: false },
  { name: "qa", can_create: true },
] as Environment[];
const read = { projects, environments };
const at = (search: CreateSearch, clone?: Clone) => {
  const place = resolveTarget({ ...read, clone }, search);
  return [place.project?.name, place.environment?.name, whyNoTarget(place)];
};

it("begins where this person may create", () => expect(at({})).toEqual(["shop", "qa", undefined]));

it("begins where one was made last, if that can take it", () => {
  const two = [...environments, { name: "us", can_create: true, nodes_online: 0 }] as Environment[];
  const begin = (all: Environment[], environment: string) =>
    resolveTarget({ projects, environments: all }, {}, { environment }).environment?.name;
  const online = two.map((one) => ({ ...one, nodes_online: 1 }));
  expect([begin(two, "us"), begin(online, "us"), begin(online, "eu")]).toEqual(["qa", "us", "qa"]);
  const place = resolveTarget(read, {}, { project: "bank", environment: "gone" });
  expect([place.project?.name, place.environment?.name]).toEqual(["shop", "qa"]);
});

it("offers only environments that this person may use, and the one that is chosen", () => {
  const names = (chosen: number) =>
    environmentsFor(environments, environments[chosen]).map(({ name }) => name);
  expect([names(1), names(0)]).toEqual([["qa"], ["eu", "qa"]]);
});

it("takes what the address names, even where they may not", () =>
  expect(at({ project: "bank", env: "eu" })).toEqual(["bank", "eu", undefined]));

it("takes nothing in place of what is not there, and says so", () => {
  const [project, environment, why] = at({ project: "gone" });
  expect([project, environment]).toEqual([undefined, "qa"]);
  expect(why).toMatch(/no project gone/);
  expect(at({ project: "draft" })[2]).toMatch(/draft has no pipeline yet/);
  expect(at({ env: "gone" })).toEqual([
    "shop",
    undefined,
    expect.stringMatching(/environment gone/),
  ]);
});

it("a clone whose project or environment is out of sight is not made elsewhere", () => {
  const clone = { source: { project: "gone", environment: "eu" } } as Clone;
  expect(at({}, clone)).toEqual([undefined, "eu", expect.stringMatching(/no project gone/)]);
  expect(at({ project: "shop" }, clone)).toEqual(["shop", "eu", undefined]);
});

it("says both that are missing", () =>
  expect(resolveTarget(read, { project: "gone", env: "lost" }).problems).toHaveLength(2));

it("without anything there is to choose", () =>
  expect(whyNoTarget(resolveTarget({ projects: [], environments }, {}))).toBe("Choose a project"));
