import type { Edge } from "@xyflow/react";
import { describe, expect, it } from "vitest";
import { diffLayout, isEmptyDiff } from "../compare/layoutDiff";
import type { Doc, Step } from "../model/document";
import { compareEdges, findRemovedSteps } from "./removedSteps";

const step = (key: string, x = 0): Step => ({
  key,
  service: { name: key, resources: {} },
  position: { x, y: 0 },
});
const doc = (steps: Step[], ...comments: string[]): Doc => ({
  steps,
  comments: comments.map((text) => ({ text, position: { x: 1, y: 1 } })),
});
const edge = (id: string): Edge => ({ id, source: "a", target: "b", className: "oe" });

describe("two drawings", () => {
  it("differ in places and comments without differing in steps", () => {
    const old = doc([step("a"), step("b")], "one", "two");
    expect(isEmptyDiff(diffLayout(old, old))).toBe(true);
    expect(diffLayout(old, doc([step("a", 9), step("b")], "one"))).toEqual({
      comments: 1,
      places: 1,
      input: false,
    });
    expect(diffLayout(old, doc([step("a"), step("b"), step("c")], "one", "2"))).toEqual({
      comments: 1,
      places: 0,
      input: false,
    });
  });

  it("show the steps that are gone where they stood", () => {
    const old = doc([step("a"), step("b", 7)]);
    expect(findRemovedSteps(old, doc([step("a"), step("c")]))).toEqual([step("b", 7)]);
    expect(findRemovedSteps(undefined, doc([]))).toEqual([]);
  });

  it("show the edges of both, with a sign for each that came or went", () => {
    const all = compareEdges(
      [edge("same"), edge("new")],
      [edge("same"), edge("old"), edge("loose")],
      ({ id }) => id !== "loose",
    );
    expect(all.map(({ id, label, className }) => [id, label, className])).toEqual([
      ["same", undefined, "oe"],
      ["new", "+", "oe new"],
      ["old", "−", "oe gone"],
    ]);
  });
});
