import { expect, it } from "vitest";
import { nextProblem, tabOf } from "./targets";

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
  expect(tabOf("plugin.parameters.host")).toBe("settings");
  expect(tabOf("service.resources.memory_mib")).toBe("limits");
  expect(tabOf("service.command[1]")).toBe("limits");
  expect(tabOf("service.tmpfs[0].path")).toBe("limits");
  expect(tabOf("service.stop_signal")).toBe("limits");
  expect(tabOf("service.volumes[0].shared")).toBe("settings");
  expect(tabOf("approval.timeout_seconds")).toBe("settings");
  expect(tabOf("needs")).toBe("settings");
});
