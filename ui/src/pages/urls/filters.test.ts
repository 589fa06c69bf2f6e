import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import type { ListSearch } from "@/lists/listSearch";
import { columnsIn } from "./columns";
import { filterDeployments, sayFilters } from "./filters";

const up = [{ step: "web", url: "http://web", health: "healthy" }];

const make = (name: string, status: string, more: Partial<Deployment> = {}) =>
  ({
    name,
    status,
    project: "shop",
    environment: "qa",
    created_by: "lena",
    changed_at: "2026-11-21T12:00:00Z",
    versions: [],
    services: up,
    ...more,
  }) as unknown as Deployment;
const all = [
  make("gone", "removed"),
  make("late", "applying"),
  make("cart", "ready"),
  make("off", "ready", { node_offline_since: "2026-11-21T12:00:00Z" }),
  make("pay", "ready", { environment: "eu" }),
];
const names = (search: ListSearch) => filterDeployments(all, search).map((one) => one.name);

it("shows what answers first, and nothing that is gone", () =>
  expect(names({})).toEqual(["cart", "pay", "late", "off"]));

it("takes for answering only what has an address that is healthy", () => {
  const sick = [{ ...up[0], health: "unhealthy" }];
  const inner = [{ step: "db", health: "healthy" }];
  const some = [make("a", "ready", { services: sick as never }), make("b", "ready")];
  some.push(make("c", "ready", { services: inner as never }));
  expect(filterDeployments(some, { ready: "yes" }).map((one) => one.name)).toEqual(["b"]);
});

it("joins its filters with and", () => {
  expect(names({ env: "qa", ready: "yes" })).toEqual(["cart"]);
  expect(names({ q: "PAY", env: "qa" })).toEqual([]);
});

it("names its filters", () => {
  expect(sayFilters({ env: "qa", ready: "yes", q: "x" })).toBe("qa, Only what answers, “x”");
  expect(sayFilters({})).toBe("");
});

it.each([
  [0, 1],
  [390, 1],
  [883, 1],
  [884, 2],
  [1228, 2],
  [1316, 3],
])("%s px have %s cards beside each other", (width, count) => expect(columnsIn(width)).toBe(count));
