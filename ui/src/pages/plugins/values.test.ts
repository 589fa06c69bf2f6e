import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { pluginValues } from "./values";

it("writes a schema in its own order, at any depth, and without the note of it", () => {
  const parameters = {
    type: "object",
    "x-order": ["zone", "account"],
    properties: {
      account: { properties: { a: {}, user: {} }, "x-order": ["user", "a"] },
      more: {},
      zone: {},
    },
  };
  const { parameters: text } = pluginValues({
    component: { parameters },
  } as unknown as Schemas["Plugin"]);
  expect(text.replaceAll(/\s/g, "")).toBe(
    '{"type":"object","properties":{"zone":{},"account":{"properties":{"user":{},"a":{}}},"more":{}}}',
  );
});
