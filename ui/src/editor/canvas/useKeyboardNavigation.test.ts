import { expect, it } from "vitest";
import type { Doc } from "../model/document";
import { adjacentStep } from "./useKeyboardNavigation";

const service = { name: "web" };
const doc: Doc = {
  steps: [
    { key: "web", needs: ["db"], service },
    { key: "db", service },
    { key: "ask", needs: ["web"], service },
  ],
  comments: [],
};

it("goes along the order in which steps run, round and round", () => {
  expect(["db", "web", "ask"].map((key) => adjacentStep(doc, key, 1))).toEqual([
    "web",
    "ask",
    "db",
  ]);
  expect(["db", "web", "ask"].map((key) => adjacentStep(doc, key, -1))).toEqual([
    "ask",
    "db",
    "web",
  ]);
});

it("begins at either end where nothing is chosen", () => {
  expect([adjacentStep(doc, undefined, 1), adjacentStep(doc, undefined, -1)]).toEqual([
    "db",
    "ask",
  ]);
  expect(adjacentStep({ steps: [], comments: [] }, undefined, 1)).toBeUndefined();
});
