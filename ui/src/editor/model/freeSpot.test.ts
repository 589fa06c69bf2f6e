import { expect, it } from "vitest";
import { offsetToFreeSpot, overlaps } from "./freeSpot";

const box = (x: number, y: number) => ({ x, y, width: 184, height: 90 });
const shifted = (of: ReturnType<typeof box>, by: { x: number; y: number }) => ({
  ...of,
  x: of.x + by.x,
  y: of.y + by.y,
});

it("leaves what is free where it was dropped", () => {
  expect(offsetToFreeSpot([box(0, 0)], [box(300, 0)])).toEqual({ x: 0, y: 0 });
});

it("moves what would lie on a step to the nearest place beside it", () => {
  const offset = offsetToFreeSpot([box(0, 80)], [box(0, 0)]);
  expect(offset).toEqual({ x: 0, y: 26 });
});

it("never lets items overlap, however many are dropped on one place", () => {
  const all: ReturnType<typeof box>[] = [];
  for (let i = 0; i < 60; i++) {
    const one = box((i * 37) % 90, (i * 53) % 70);
    all.push(shifted(one, offsetToFreeSpot([one], all)));
  }
  const pairs = all.flatMap((a, i) => all.slice(i + 1).filter((b) => overlaps(a, b)));
  expect(pairs).toEqual([]);
});

it("moves items that belong together by the same way", () => {
  const group = [box(0, 0), box(220, 0)];
  const others = [box(230, 10)];
  const offset = offsetToFreeSpot(group, others);
  expect(offset).not.toEqual({ x: 0, y: 0 });
  for (const one of group) expect(overlaps(shifted(one, offset), others[0] as never)).toBe(false);
});
