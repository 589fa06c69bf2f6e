import { expect, it } from "vitest";
import { COLUMN_GAP, WIDTH } from "./stepGeometry";
import { readableStart } from "./useSight";

it("shows all of six steps in a row at 1024, and the beginning of more", () => {
  // The window without the folded sidebar and its line.
  const canvas = 1024 - 53;
  const row = (steps: number) => steps * WIDTH + (steps - 1) * COLUMN_GAP;
  const start = readableStart(row(6), canvas);
  expect(start).toBeGreaterThanOrEqual(6);
  expect(start + row(6) * 0.7).toBeLessThanOrEqual(canvas - 6);
  expect(readableStart(row(7), canvas)).toBe(24);
});
