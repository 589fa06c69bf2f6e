import { describe, expect, it } from "vitest";
import { formFields, readJson, readSchema } from "./schema";

describe("a schema as it is typed", () => {
  it("says line and column of what is no JSON", () => {
    expect(readJson('{\n  "a": 1,\n  b\n}').wrong).toMatch(/^Line 3, column 3: /);
    expect(readJson('{"a": ').wrong).toMatch(/^Line 1, column \d+: /);
  });
  it("takes an empty text for nothing, and a list for a fault", () => {
    expect(readJson("  \n")).toEqual({});
    expect(readJson("[1]").wrong).toBeTruthy();
  });
  it.each([
    ['{"properties": {"rows": {"type": "numbr"}}}', /rows: type is one of/],
    ['{"properties": {"rows": 7}}', /rows: a property is described/],
    ['{"properties": {}, "required": ["rows"]}', /required names rows/],
    ['{"properties": {"rows": {"type": "integer", "default": "7"}}}', /rows: the default/],
  ])("names the property that is wrong: %s", (schema, wrong) => {
    expect(readSchema(schema).wrong).toMatch(wrong);
  });
  it("lists the fields of the form it gives", () => {
    const { value, wrong } = readSchema(
      '{"properties": {"rows": {"type": "integer", "default": 7}, "mode": {"enum": ["a", "b"]}}, "required": ["mode"]}',
    );
    expect(wrong).toBeUndefined();
    expect(formFields(value)).toMatchObject([
      { name: "rows", type: "integer", required: false, fallback: "7" },
      { name: "mode", type: "any", required: true, choices: '"a", "b"' },
    ]);
  });
});
