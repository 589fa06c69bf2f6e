import { expect, it } from "vitest";
import { type Catalogue, inputsOf, outputsOf } from "./catalogue";
import { kindOf, pipelineOf, type Step } from "./document";
import { problemsOf } from "./problems";
import { completionsAt, offsetOf, placeOf } from "./scriptCode";
import { buildStep, fieldsOf } from "./stepFields";

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: ["key"] };
const derive: Step = {
  key: "derive",
  script: {
    source: "export default () => {}",
    parameters: { host: "${{ secrets.nix }}" },
    secrets: { key: "${{ secrets.key }}" },
    outputs: { properties: { slug: { type: "string" }, url: { writeOnly: true } } },
    removes: true,
  },
};
const known = { parameters: ["name"], secrets: [], outputs: [], services: ["db"] };

it("knows a script's inputs and outputs, and sends it as written", () => {
  expect(kindOf(derive)).toBe("script");
  expect(outputsOf(derive, catalogue).map((one) => `${one.name}:${one.type}`)).toEqual([
    "slug:text",
    "url:secret",
  ]);
  expect(inputsOf(derive, catalogue).map((one) => one.path)).toEqual([
    "script.secrets.key",
    "script.parameters.host",
  ]);
  const doc = { steps: [derive], comments: [] };
  expect(pipelineOf(doc).steps[0]?.script).not.toHaveProperty("removes");
  expect(problemsOf(doc, catalogue).map((one) => one.field)).toEqual(["script.parameters.host"]);
});

it("merges field by field", () => {
  expect(buildStep("derive", fieldsOf(derive))).toEqual(derive);
});

it("finds the place of a problem, and names that fit", () => {
  expect(placeOf("line 2, column 7: no")).toEqual({ line: 2, column: 7 });
  expect(placeOf("no")).toBeUndefined();
  expect(offsetOf("ab\ncdef", 2, 3)).toBe(5);
  expect(completionsAt("x = para", 8, known)).toEqual({ from: 4, names: ["parameters"] });
  expect(completionsAt("parameters.", 11, known)).toEqual({ from: 11, names: ["name"] });
  expect(completionsAt("services.d", 10, known)).toEqual({ from: 9, names: ["db"] });
  expect(completionsAt("deployment.na", 13, known).names).toEqual(["name"]);
});
