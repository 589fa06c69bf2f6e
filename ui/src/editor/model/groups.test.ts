import { expect, it } from "vitest";
import { copySteps } from "./clipboard";
import type { Doc } from "./document";
import { removeSelected, renameStep } from "./edit";
import { groupSteps, withMembers } from "./groups";
import { pasteSteps } from "./pasteSteps";

const at = { x: 0, y: 0 };
const doc: Doc = {
  steps: ["a", "b", "c"].map((key) => ({ key, service: { name: key }, position: at })),
  comments: [],
};
const members = (of: Doc) => of.comments.map((one) => one.steps);

it("puts each step in one group at most, and drops a group that nothing is left of", () => {
  const first = groupSteps(doc, new Set(["a", "b"]), at);
  expect(first.id).toBe("#0");
  const second = groupSteps(first.doc, new Set(["b", "c"]), at);
  expect(members(second.doc)).toEqual([["a"], ["b", "c"]]);
  expect(members(groupSteps(second.doc, new Set(["a"]), at).doc)).toEqual([["b", "c"], ["a"]]);
});

it("follows its steps when they are renamed, removed, copied and moved", () => {
  const { doc: grouped } = groupSteps(doc, new Set(["a", "b"]), at);
  expect(members(renameStep(grouped, "a", "z"))).toEqual([["z", "b"]]);
  expect(members(removeSelected(grouped, new Set(["a"])))).toEqual([["b"]]);
  expect(members(removeSelected(grouped, new Set(["a", "b"])))).toEqual([]);
  const removed = removeSelected(grouped, new Set(["#0"]));
  expect([removed.steps.length, removed.comments]).toEqual([3, []]);
  const text = copySteps(grouped, new Set(["a", "#0"]));
  const pasted = pasteSteps(grouped, text, { by: { x: 40, y: 40 } });
  expect(pasted && "doc" in pasted && members(pasted.doc)).toEqual([["a", "b"], ["a-2"]]);
  expect([...withMembers(grouped, new Set(["#0"]))]).toEqual(["#0", "a", "b"]);
});
