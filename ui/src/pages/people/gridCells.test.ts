import { expect, it } from "vitest";
import { clampCell, moveCell } from "./gridCells";

const size = { row: 3, column: 4 };

it.each([
  ["ArrowRight", false, { row: 1, column: 3 }, { row: 1, column: 3 }],
  ["ArrowDown", false, { row: 1, column: 1 }, { row: 2, column: 1 }],
  ["ArrowUp", false, { row: 0, column: 1 }, { row: -1, column: 1 }],
  ["ArrowUp", false, { row: -1, column: 1 }, { row: -1, column: 1 }],
  ["ArrowUp", false, { row: 0, column: -1 }, { row: 0, column: -1 }],
  ["ArrowLeft", false, { row: 1, column: 0 }, { row: 1, column: -1 }],
  ["ArrowLeft", false, { row: -1, column: 0 }, { row: -1, column: 0 }],
  ["ArrowLeft", false, { row: 1, column: 1 }, { row: 1, column: 0 }],
  ["Home", false, { row: 2, column: 3 }, { row: 2, column: 0 }],
  ["End", true, { row: 0, column: 0 }, { row: 2, column: 3 }],
] as const)("%s (whole: %s) stays in the grid", (key, whole, from, to) => {
  expect(moveCell(from, key, whole, size)).toEqual(to);
});

it("leaves every other key alone", () => {
  expect(moveCell({ row: 0, column: 0 }, "Enter", false, size)).toBeUndefined();
});

it("stays on a cell when rows or columns go", () => {
  expect(clampCell({ row: 2, column: 3 }, { row: 1, column: 2 })).toEqual({ row: 0, column: 1 });
});
