import { expect, it } from "vitest";
import { stateOfVerdict } from "./verdictState";

const said = { id: "1", digest_set: "a", run: 1, author: "ada", at: "2026-11-27T10:00:00Z" };

it("a verdict that is void says nothing about what runs", () => {
  expect(stateOfVerdict({ ...said, outcome: "passed" })).toBe("done");
  expect(stateOfVerdict({ ...said, outcome: "remarks" })).toBe("warn");
  expect(stateOfVerdict({ ...said, outcome: "failed" })).toBe("failed");
  expect(stateOfVerdict({ ...said, outcome: "failed", voided_at: said.at })).toBe("removed");
});
