import { expect, it } from "vitest";
import { sayField, splitField } from "./fieldTexts";

it.each([
  ["service.env.GREETING_TEXT", "variable GREETING_TEXT"],
  ["job.env.a.b", "variable a.b"],
  ["plugin.parameters.retry_count", "parameter retry_count"],
  ["service.resources.memory_mib", "memory in MiB"],
  ["service.ready.http.path", "readiness HTTP path"],
  ["service.ports.web.expose", "port web open to browsers"],
  ["service.image.tag", "tag"],
  ["plugin.action_limit", "action limit"],
  ["needs", "runs after"],
  ["input.seed_data", "input seed_data"],
  ["environment", "environment"],
])("%s is said as %s", (path, said) => expect(sayField(path)).toBe(said));

it.each([
  ["versions.web.tag", { step: "web", field: "tag" }],
  ["versions.web.image", { step: "web", field: "image" }],
  ["steps.api.service.env.A", { step: "api", field: "variable A" }],
  ["steps.api", { step: "api", field: "" }],
  ["status", { step: undefined, field: "state" }],
  ["pipeline_version", { step: undefined, field: "pipeline version" }],
])("%s belongs to %o", (path, of) => expect({ step: undefined, ...splitField(path) }).toEqual(of));
