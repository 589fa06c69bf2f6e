import { expect, it } from "vitest";
import type { Catalogue } from "./catalogue";
import type { Doc } from "./document";
import { canPin, pinnedFields, pinnedOutputs, stepsBefore, typedOutputs } from "./pins";

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: ["DB"] };
const outputs = {
  type: "object",
  properties: { rows: { type: "integer" }, password: { type: "string", writeOnly: true } },
};
const doc: Doc = {
  comments: [],
  steps: [
    { key: "db", service: { name: "db", resources: {} } },
    { key: "seed", needs: ["db"], script: { source: "x", outputs } },
    {
      key: "api",
      needs: ["seed"],
      service: {
        name: "api",
        resources: {},
        env: { ROWS: "${{ steps.seed.outputs.rows }}", EXTRA: "${{ steps.seed.outputs.extra }}" },
      },
    },
    { key: "after", needs: ["api"], script: { source: "x" } },
  ],
};
const keys = (pinned: string[]) =>
  stepsBefore(doc, "api", new Map(pinned.map((key) => [key, {}]))).map((step) => step.key);

it("lists what runs before a step, and not what a pinned one alone would need", () => {
  expect(keys([])).toEqual(["db", "seed"]);
  expect(keys(["seed"])).toEqual(["seed"]);
  expect(doc.steps.map(canPin)).toEqual([false, true, false, true]);
});

it("gives each output its type, and of a secret one only a reference", () => {
  const [, seed] = doc.steps;
  if (!seed) throw new Error("the drawing has no second step");
  expect(pinnedFields(doc, seed, catalogue).map((port) => port.name)).toEqual([
    "rows",
    "password",
    "extra",
  ]);
  const pins = new Map([["seed", { rows: "3", password: "DB", extra: "some text" }]]);
  expect(pinnedOutputs(doc, "api", catalogue, pins)).toEqual({
    seed: { rows: 3, password: "${{ secrets.DB }}", extra: "some text" },
  });
  expect(pinnedOutputs(doc, "db", catalogue, pins)).toEqual({});
});

it("types the outputs of a run again, without what is secret", () => {
  expect(typedOutputs({ rows: 3, name: "a", password: "[secret]", list: [1] })).toEqual({
    rows: "3",
    name: "a",
    list: "[1]",
  });
});
