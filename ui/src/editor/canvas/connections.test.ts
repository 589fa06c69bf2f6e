import { expect, it } from "vitest";
import { nextProblem, tabOfField } from "./connections";

const problem = (step: string, field: string) => ({ step, field, code: "x", message: field });

it("leads to each problem in turn, also to the second of one step", () => {
  const all = [problem("a", "key"), problem("b", "x"), problem("b", "y"), problem("c", "z")];
  const seen = [nextProblem(all, undefined, undefined)];
  for (let i = 0; i < 4; i++) seen.push(nextProblem(all, seen[seen.length - 1], "b"));
  expect(seen).toEqual([...all, all[0]]);
  expect(nextProblem(all, undefined, "c")).toBe(all[3]);
  expect(nextProblem(all, problem("a", "solved"), "b")).toBe(all[1]);
  expect(nextProblem(all, { ...problem("b", "x"), message: "in other words" }, "b")).toBe(all[2]);
  expect(nextProblem([], undefined, "b")).toBeUndefined();
});

it("knows the tab of a field", () => {
  expect(tabOfField("plugin.parameters.host")).toBe("settings");
  expect(tabOfField("service.resources.memory_mib")).toBe("limits");
  expect(tabOfField("service.command[1]")).toBe("limits");
  expect(tabOfField("service.tmpfs[0].path")).toBe("limits");
  expect(tabOfField("service.stop_signal")).toBe("limits");
  expect(tabOfField("service.volumes[0].shared")).toBe("settings");
  expect(tabOfField("approval.timeout_seconds")).toBe("settings");
  expect(tabOfField("needs")).toBe("settings");
});
