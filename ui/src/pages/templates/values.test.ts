import { expect, it } from "vitest";
import { bodyOf, findProblems, initialValues } from "./values";

const stored = {
  name: "release",
  description: "",
  environment: "qa",
  versions: { web: "main-1", gone: "v3", api: "" },
  wait: true,
  priority: 0,
  updated_by: "ada",
  updated_at: "2026-11-22T12:00:00Z",
};

it("a template is saved as it was read, without versions that nobody can choose", () => {
  expect(bodyOf(initialValues(stored), [{ step: "web" }, { step: "api" }])).toEqual({
    description: undefined,
    environment: "qa",
    deployment_name: undefined,
    versions: { web: "main-1" },
    wait: true,
    priority: 0,
  });
});

it("a template says at each field what is wrong before it is sent", () => {
  const values = {
    ...initialValues(stored),
    name: "Not Good",
    deployment_name: "A b",
    priority: "256",
  };
  expect(Object.keys(findProblems(values, []))).toEqual(["name", "deployment_name", "priority"]);
  expect(findProblems({ ...values, deployment_name: "", priority: "255" })).toEqual({});
  expect(findProblems({ ...values, deployment_name: "", priority: "x" })).toHaveProperty(
    "priority",
  );
});
