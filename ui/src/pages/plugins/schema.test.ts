import { describe, expect, it } from "vitest";
import { fieldNames, fieldTitles, readJson, readSchema } from "./schema";

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
    ['{"type": "array"}', /It is the schema of an object/],
    ['{"properties": [1]}', /^properties is an object/],
    ['{"properties": {"a": {"properties": {"b": {"required": "c"}}}}}', /^a\.b: properties is/],
    ['{"properties": {"a": {"properties": {"b": {"type": "text"}}}}}', /^a\.b: type is one of/],
    ['{"properties": {"a": {"properties": {}, "required": ["b"]}}}', /required names a\.b/],
    ['{"properties": {"a": {"items": {"type": "text"}}}}', /^a\[\]: type is one of/],
    ['{"properties": {"a": {"enum": []}}}', /^a: enum is a list/],
    ['{"properties": {"a": {"type": "string", "enum": ["x", 2]}}}', /^a: 2 in enum is not of/],
    ['{"properties": {"a": {"enum": ["x"], "default": "y"}}}', /^a: the default is none of/],
    ['{"properties": {"a": {"minimum": "1"}}}', /^a: minimum is a number/],
    ['{"properties": {"a": {"minLength": 9, "maxLength": 3}}}', /^a: its smallest is above/],
    ['{"properties": {"a": {"minimum": 1, "default": 0}}}', /^a: the default is out of/],
    ['{"properties": {"a": {"exclusiveMaximum": 1, "default": 1}}}', /^a: the default is out of/],
    ['{"properties": {"a": {"maxLength": 1, "default": "no"}}}', /^a: the default is out of/],
    ['{"properties": {"a": {"pattern": "^v", "default": "1"}}}', /^a: the default does not match/],
    [
      '{"properties": {"a": {"items": {"type": "string"}, "default": [1]}}}',
      /^a: the default is not/,
    ],
  ])("names the property that is wrong: %s", (schema, wrong) => {
    expect(readSchema(schema).wrong).toMatch(wrong);
  });
  it.each([
    '{"properties": {"a": {"type": ["string", "null"], "default": null}}}',
    '{"properties": {"a": {"minimum": 1, "maximum": 1, "default": 1}}}',
    '{"properties": {"a": {"type": "array", "items": {"enum": ["x"]}, "default": ["x", "x"]}}}',
    '{"properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}, "default": {"b": 1}}}}',
    '{"properties": {"a": {"type": "object", "required": ["b"], "properties": {"b": true}}}}',
    '{"properties": {"a": {"type": "object", "required": ["X-Key"]}}}',
    // A dialect that the server reads and this browser does not.
    '{"properties": {"a": {"pattern": "(?i)^v", "default": "V1"}}}',
  ])("passes what is well: %s", (schema) => {
    expect(readSchema(schema).wrong).toBeUndefined();
  });
  it("names the fields of the form it gives", () => {
    const { value } = readSchema('{"properties": {"rows": {"type": "integer"}, "mode": {}}}');
    expect(fieldNames(value)).toEqual(["rows", "mode"]);
    expect(fieldNames(undefined)).toEqual([]);
  });
});

it("calls fields as their form does, in its order", () => {
  const properties = { b: { title: "Second" }, a: { title: "First" }, c: {} };
  expect(fieldTitles({ "x-order": ["a", "b", "c"], properties })).toEqual(["First", "Second", "c"]);
});
