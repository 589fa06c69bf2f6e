import { expect, it } from "vitest";
import type { Doc } from "./document";
import { isImplied } from "./impliedLines";

const drawing = (needs: Record<string, string[]>): Doc => ({
  steps: Object.entries(needs).map(([key, all]) => ({ key, needs: all, service: { name: key } })),
  comments: [],
});

it("knows the lines that follow from others", () => {
  const doc = drawing({ a: [], b: ["a"], c: ["a", "b"], d: ["a", "c"] });
  expect(isImplied(doc, "a", "c")).toBe(true);
  expect(isImplied(doc, "a", "d")).toBe(true);
  expect(isImplied(doc, "a", "b")).toBe(false);
  expect(isImplied(doc, "b", "c")).toBe(false);
});

it("hides no line of a circle", () => {
  const doc = drawing({ a: ["c"], b: ["a"], c: ["a", "b"] });
  expect(isImplied(doc, "a", "c")).toBe(false);
});
