import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { branchOf, compareBy, groupsBy, ownName } from "./arrange";
import { readHidden, tracksOf } from "./columns";
import { isNarrowed, readFilters } from "./filters";
import { linesOf } from "./listLines";
import { nextSort, readSort } from "./listOrder";
import { readStars } from "./stars";

const make = (name: string, more: Partial<Deployment> = {}) =>
  ({
    id: name,
    name,
    project: "shop",
    environment: "qa",
    status: "ready",
    created_by: "lena",
    changed_at: "2026-11-21T12:00:00Z",
    versions: [],
    services: [],
    ...more,
  }) as unknown as Deployment;
const at = (tag: string) =>
  make(tag, { versions: [{ step: "web", tag, tag_mode: "selectable" }] as never });

it("sorts by a column up, then down, then as before", () => {
  const press = (now?: string) => nextSort("left", now);
  expect([press(), press("left"), press("-left"), press("name")]).toEqual([
    "left",
    "-left",
    undefined,
    "left",
  ]);
  expect([readSort("-left"), readSort("name"), readSort("drop"), readSort()]).toEqual([
    { by: "left", down: true },
    { by: "name", down: false },
    undefined,
    undefined,
  ]);
  const rows = [
    make("b", { expires_at: "2026-11-22" }),
    make("a"),
    make("c", { expires_at: "2026-11-21" }),
  ];
  const names = (sort?: string) =>
    rows
      .toSorted(compareBy(readSort(sort)))
      .map(({ name }) => name)
      .join("");
  expect([names("name"), names("-name"), names("left"), names()]).toEqual([
    "abc",
    "cba",
    "cba",
    "abc",
  ]);
});

it.each([
  ["feat-cart-redesign-51d0e7b", "feat-cart-redesign"],
  ["main-412", "main"],
  ["feature_x.gabcdef0", "feature_x"],
  ["main", ""],
  ["v1.2.0", ""],
  ["2026.46.1", ""],
])("the branch of %s is “%s”", (tag, branch) => expect(branchOf(at(tag))).toBe(branch));

it("divides by what was chosen, favourites first and what has no branch last", () => {
  const rows = [at("v1.0"), at("zeta-1"), at("alpha-1"), make("liked")];
  const groupOf = groupsBy("branch", (id) => id === "liked");
  const heads = linesOf(
    rows.map((row) => ({ row, group: groupOf(row) })),
    {},
  ).flatMap((line) => ("head" in line ? [ownName(line.head) ?? line.head] : []));
  expect(heads).toEqual(["starred", "alpha", "zeta", ""]);
  const byProject = groupsBy("project", () => false)(make("x", { project: "ready" }));
  expect([byProject, groupsBy(undefined, () => false)(make("x"))]).toEqual(["=ready", "ready"]);
});

it("divides by pull request, which only what a rule made has", () => {
  const pull_request = { repository: "acme/shop", number: 12, title: "Redesign the cart" };
  const groupOf = groupsBy("pull", () => false);
  expect([groupOf(make("a", { pull_request })), groupOf(make("b"))].map(ownName)).toEqual([
    "acme/shop#12 Redesign the cart",
    "",
  ]);
});

it("keeps in the address how the list stands, which leaves nothing out", () => {
  const filters = readFilters({ group: "owner", sort: "-left" });
  expect([filters.group, filters.sort, isNarrowed(filters)]).toEqual(["owner", "-left", false]);
  const odd = readFilters({ group: "moon", sort: "moon" });
  expect([odd.group, odd.sort]).toEqual([undefined, undefined]);
});

it("gives hidden columns no room, and broken storage hides and likes nothing", () => {
  expect(readHidden('["owner","moon"]')).toEqual(["owner"]);
  expect([readHidden("{"), readHidden("{}"), readStars("1"), readStars('["a"]')]).toEqual([
    [],
    [],
    [],
    ["a"],
  ]);
  expect(tracksOf([]).wide).toContain("104px");
  expect(tracksOf(["owner"]).wide).not.toContain("104px");
  expect(tracksOf(["environment"]).medium).not.toContain("84px");
});
