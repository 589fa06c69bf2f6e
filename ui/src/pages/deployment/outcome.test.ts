import { expect, it } from "vitest";
import { outcomeOfRun } from "./outcome";

it("a run keeps its result when its deployment is removed", () => {
  // promise: U-02
  expect(outcomeOfRun({ status: "removed", result: "ready" })).toEqual({
    state: "ready",
    cleanup: "removed",
  });
  expect(outcomeOfRun({ status: "removed", result: "failed" }).state).toBe("failed");
  expect(outcomeOfRun({ status: "ready", result: "ready" })).toEqual({ state: "ready" });
  expect(outcomeOfRun({ status: "applying" })).toEqual({ state: "applying" });
});
