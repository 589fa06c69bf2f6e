import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { filterGrid, type GridFilter } from "./gridFilter";

const teams = [
  { name: "storefront", members: ["mira"], grants: [{ project: "shop", level: "full" }] },
  { name: "search", members: ["otto"], grants: [] },
] as unknown as Schemas["Team"][];
const columns = [{ project: "shop" }, { project: "billing" }, { environment: "qa" }];
const found = (filter: GridFilter) => {
  const of = filterGrid(teams, columns, filter);
  return [of.teams.map((one) => one.name), of.columns.map((one) => one.project ?? one.environment)];
};

it.each<[GridFilter, string[], string[]]>([
  [{}, ["storefront", "search"], ["shop", "billing", "qa"]],
  [{ team: "STORE" }, ["storefront"], ["shop", "billing", "qa"]],
  // A person is found by the teams they are in.
  [{ team: "otto" }, ["search"], ["shop", "billing", "qa"]],
  [{ object: "b" }, ["storefront", "search"], ["billing"]],
  [{ show: "environments" }, ["storefront", "search"], ["qa"]],
  [{ show: "granted" }, ["storefront", "search"], ["shop"]],
  [{ show: "granted", team: "search" }, ["search"], []],
])("%j shows the teams %j on %j", (filter, rows, of) => {
  expect(found(filter)).toEqual([rows, of]);
});
