import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { type Group, groupOf } from "./filters";
import { assignPlaces, outOfOrder } from "./rowHold";

const make = (id: string, status = "ready") => ({ id, status }) as unknown as Deployment;
const names = (placed: { row: Deployment }[]) => placed.map(({ row }) => row.id).join(" ");

it("keeps order and group of what is known, puts new ones last, and counts what would move", () => {
  const places = new Map<string, Group>();
  const rows = ["a", "b", "c"].map((id) => make(id));
  expect(assignPlaces(rows, groupOf, places).moved).toBe(0);
  const first = assignPlaces([make("c"), make("a"), make("b")], groupOf, places);
  expect(names(first.placed)).toBe("a b c");
  expect(first.moved).toBe(1);
  const failed = assignPlaces(
    [make("c"), make("new"), make("a"), make("b", "failed")],
    groupOf,
    places,
  );
  expect(names(failed.placed)).toBe("a b c new");
  expect(failed.placed[1]?.group).toBe("ready");
  expect(failed.moved).toBe(2);
});

it("leaves out what is there no more, and nothing moved for that", () => {
  const places = new Map<string, Group>();
  assignPlaces([make("a"), make("b"), make("c")], groupOf, places);
  const { placed, moved } = assignPlaces([make("a"), make("c")], groupOf, places);
  expect([names(placed), moved]).toEqual(["a c", 0]);
});

it.each([
  [[], 0],
  [[1, 2, 3], 0],
  [[3, 1, 2], 1],
  [[3, 2, 1], 2],
  [[2, 1, 4, 3], 2],
])("of %j at least %s have to move", (numbers, count) => expect(outOfOrder(numbers)).toBe(count));
