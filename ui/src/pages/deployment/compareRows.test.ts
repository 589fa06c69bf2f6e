import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { differenceOf, pipelineRows, placeRows, versionRows } from "./compareRows";

const version = (tag: string, digest: string) => ({ tag, digest }) as Schemas["ServiceVersion"];

it("names tags, and the image where a tag was moved", () => {
  expect(
    versionRows([
      { step: "api", same: true, good: version("1", "a"), run: version("1", "a") },
      { step: "web", same: false, good: version("1", "a"), run: version("2", "b") },
      { step: "db", same: false, good: version("1", "a"), run: version("1", "b") },
      { step: "new", same: false, run: version("1", "c") },
    ]),
  ).toEqual([
    { key: "web", what: ["web"], good: "1", run: "2" },
    { key: "db", what: ["db"], good: "1 a", run: "1 b" },
    { key: "new", what: ["new"], good: undefined, run: "1" },
  ]);
});

it("parts the fields of steps from place and input, and leaves whole steps to the steps", () => {
  const fields = [
    { path: "environment", good: "qa", run: "eu" },
    { path: "steps.api.service.env.A", run: "1" },
    { path: "steps.seed", good: { key: "seed" } },
    { path: "input.seed", good: 1, run: 2 },
  ];
  expect(pipelineRows(fields)).toEqual([
    { key: "steps.api.service.env.A", what: ["api", "variable A"], good: undefined, run: "1" },
  ]);
  expect(placeRows(fields).map((row) => [row.what[0], row.good, row.run])).toEqual([
    ["environment", "qa", "eu"],
    ["input seed", "1", "2"],
  ]);
});

it("compares durations that both sides have", () => {
  const step = { step: "api", kind: "service", title: "api" };
  expect(
    differenceOf({
      ...step,
      good: { status: "done", seconds: 3 },
      run: { status: "done", seconds: 4 },
    }),
  ).toBe(1000);
  expect(differenceOf({ ...step, good: { status: "done", seconds: 3 } })).toBeUndefined();
});
