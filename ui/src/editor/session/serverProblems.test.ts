import { expect, it } from "vitest";
import { ApiError } from "@/api/client";
import type { Doc } from "../model/document";
import { describeProblem, problemsOfRefusal } from "./serverProblems";

const doc: Doc = {
  steps: [
    { key: "db", service: { name: "db" } },
    { key: "web", service: { name: "web" } },
  ],
  comments: [],
};
const refusal = (more: object, status = 400) =>
  new ApiError(status, {
    type: "about:blank",
    title: "Bad Request",
    status,
    code: "invalid",
    request_id: "1",
    ...more,
  });

it("finds the step and the field that the server could not read", () => {
  const field = "pipeline.steps.1.service.ports.0.port";
  expect(problemsOfRefusal(refusal({ field, detail: "number must be at least 1" }), doc)).toEqual([
    {
      step: "web",
      field: "service.ports[0].port",
      code: "invalid",
      message: "number must be at least 1",
    },
  ]);
});

it("finds each of several, and those that name their step", () => {
  const problems = [
    { field: "pipeline.steps.0.key", code: "invalid", message: "a" },
    { field: "approval.prompt", code: "required", message: "b", step: "web" },
    { field: "pipeline.resources.cpu", code: "over_limit", message: "c" },
  ];
  const found = problemsOfRefusal(refusal({ field: "pipeline.steps.0.key", problems }, 422), doc);
  expect(found.map(({ step, field }) => [step, field])).toEqual([
    ["db", "key"],
    ["web", "approval.prompt"],
    [undefined, "resources.cpu"],
  ]);
});

it("takes nothing else for a fault of the drawing", () => {
  expect(problemsOfRefusal(refusal({ detail: "too many requests" }, 429), doc)).toEqual([]);
  expect(problemsOfRefusal(refusal({ field: "pipeline.steps.0.key" }, 503), doc)).toEqual([]);
  expect(problemsOfRefusal(new TypeError("Failed to fetch"), doc)).toEqual([]);
});

it("says in one line where it is and what", () => {
  const message = "A whole number from 1 to 65535.";
  const problem = { step: "web", field: "service.ports[0].port", code: "range", message };
  expect(describeProblem(problem)).toBe("web › Ports 1: A whole number from 1 to 65535.");
});
