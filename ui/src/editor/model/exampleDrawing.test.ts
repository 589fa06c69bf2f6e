import { expect, it } from "vitest";
import { newStep } from "../canvas/newStep";
import type { Catalogue } from "./catalogue";
import { exampleDrawing } from "./exampleDrawing";
import { problemsOf } from "./problems";

const service = (name: string, tag_mode: string) => [name, { name, tag_mode }] as const;

it("draws the services that there are, databases first, each with a line from the one before", () => {
  const catalogue = {
    services: new Map([
      service("web", "selectable"),
      service("db", "pinned"),
      service("cache", "pinned"),
      service("api", "selectable"),
    ]),
    plugins: new Map(),
    secrets: [],
  } as unknown as Catalogue;
  const doc = exampleDrawing(catalogue, (what, at) => newStep(what, at, catalogue));
  expect(doc.steps.map((step) => [step.key, step.needs ?? []])).toEqual([
    ["db", []],
    ["web", ["db"]],
    ["api", ["web"]],
  ]);
  expect(doc.steps[1]?.service?.env).toEqual({ DB_HOST: "${{ services.db.host }}" });
  expect(problemsOf(doc, catalogue)).toEqual([]);
});

it("draws nothing of nothing", () => {
  const none: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };
  expect(exampleDrawing(none, newStep).steps).toEqual([]);
});
