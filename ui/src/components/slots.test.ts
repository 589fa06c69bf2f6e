import { expect, test } from "vitest";
import { takeSlots } from "./slots";

const keys = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `k${from + i}`);

test("who stays in sight keeps the slot, who comes beside them gets a new one", () => {
  const first = takeSlots(new Map(), keys(0, 4));
  const next = takeSlots(first, keys(2, 4));
  expect([...next]).toEqual([
    ["k2", 2],
    ["k3", 3],
    ["k4", 4],
    ["k5", 5],
  ]);
});

test("when all in sight are new they take over the slots in their order, and no more are made", () => {
  let slots = takeSlots(new Map(), keys(0, 5));
  for (let i = 1; i < 50; i++) slots = takeSlots(slots, keys(100 * i, 5));
  expect([...slots.values()]).toEqual([0, 1, 2, 3, 4]);
});

test("the slot of the row with the focus is given to nobody", () => {
  const first = takeSlots(new Map(), keys(0, 3));
  const next = takeSlots(first, keys(50, 3), "k1");
  expect([...next.values()]).toEqual([0, 2, 3]);
});

test("no two keys ever share a slot", () => {
  let slots = new Map<string, number>();
  for (let i = 0; i < 500; i++) {
    slots = takeSlots(slots, keys((i * 7919) % 83, 1 + ((i * 31) % 12)), `k${i % 83}`);
    expect(new Set(slots.values()).size).toBe(slots.size);
  }
});
