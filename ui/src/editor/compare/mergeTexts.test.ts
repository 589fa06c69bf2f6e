import { expect, it } from "vitest";
import { mergeTexts } from "@/editor/compare/mergeTexts";

it.each([
  [0, 1, "1 change of yours conflicts with theirs."],
  [0, 2, "2 changes of yours conflict with theirs."],
  [1, 0, "1 change of yours can be kept; none conflicts with theirs."],
  [2, 1, "2 changes of yours can be kept, 1 conflicts with theirs."],
])("says of %d changes and %d conflicts what becomes of them", (mine, conflicts, said) => {
  expect(mergeTexts.count(mine, conflicts)).toBe(said);
});
