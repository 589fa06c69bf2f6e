import { expect, it } from "vitest";
import { checkParameters } from "./checkParameters";

const said = (schema: Record<string, unknown>, values: Record<string, unknown>) =>
  checkParameters(schema, values).map((one) => [
    one.field.replace("plugin.parameters", ""),
    one.message,
  ]);

it("says in the page's words what a schema wants, down to the part", () => {
  const properties = {
    size: { type: "integer", minimum: 1 },
    mood: { enum: ["loud", "quiet"] },
    tags: { type: "array", items: { type: "string", maxLength: 3 } },
    tree: { type: "object", required: ["a"], properties: { a: { type: "number" } } },
  };
  const values = { size: 0, mood: "mad", tags: ["a", "long"], tree: {} };
  expect(said({ properties }, values)).toEqual([
    [".size", "At least 1."],
    [".mood", "One of loud, quiet."],
    [".tags[1]", "At most 3 letters."],
    [".tree.a", "Required, and empty."],
  ]);
});

it("follows what the schema refers to in itself", () => {
  const schema = {
    $defs: { port: { type: "integer", maximum: 65535 } },
    properties: { port: { $ref: "#/$defs/port" } },
  };
  expect(said(schema, { port: 70_000 })).toEqual([[".port", "At most 65535."]]);
  expect(said(schema, { port: 80 })).toEqual([]);
});

it("judges values together", () => {
  const schema = {
    properties: { host: {}, port: {}, url: {} },
    dependentRequired: { port: ["host"] },
    oneOf: [{ required: ["url"] }, { required: ["port"] }],
  };
  expect(said(schema, { port: 1 })).toEqual([
    [".host", "Required together with the other values."],
  ]);
  expect(said(schema, { port: 1, host: "a", url: "b" })).toEqual([
    ["", "It must be exactly one of the forms that the plugin accepts."],
  ]);
});

it("judges nothing that depends on what is known only later", () => {
  const schema = {
    required: ["host"],
    properties: { host: {}, port: { minimum: 1 }, url: { type: "integer" } },
    dependentRequired: { port: ["host"] },
    oneOf: [{ required: ["url"] }, { required: ["host"] }],
  };
  const host = "${{ services.db.host }}";
  expect(said(schema, { port: 1, host })).toEqual([]);
  expect(said(schema, { port: 0, host })).toEqual([[".port", "At least 1."]]);
  expect(said(schema, { url: host })).toEqual([]);
});

it("refuses what the plugin does not know", () => {
  const schema = { properties: { a: {} }, additionalProperties: false };
  expect(said(schema, { a: 1, b: 2 })).toEqual([
    [".b", "The plugin has no parameter with this name."],
  ]);
});

it("leaves a schema that it cannot read to the server", () => {
  expect(said({ properties: { a: { $ref: "elsewhere.json" } } }, { a: 1 })).toEqual([]);
});
