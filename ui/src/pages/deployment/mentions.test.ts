import { expect, it } from "vitest";
import { insertName, mentionsIn, splitMentions, typedName } from "./mentions";

it("finds names after an @, and no mail addresses", () => {
  expect(mentionsIn("@lena, (@Root) and @lena again; ada@example.org, a/@b, @@c")).toEqual([
    "lena",
    "root",
  ]);
  expect(mentionsIn("@ lena @-x")).toEqual([]);
});

it("knows what of a name was typed", () => {
  expect(typedName("hi @le", 6)).toBe("le");
  expect(typedName("hi @", 4)).toBe("");
  expect(typedName("hi @le x", 8)).toBeUndefined();
  expect(typedName("ada@ex", 6)).toBeUndefined();
});

it("puts a name in place of what was typed, or at the caret", () => {
  expect(insertName("hi @le there", 6, "lena")).toEqual(["hi @lena there", 9]);
  expect(insertName("look", 4, "lena")).toEqual(["look @lena ", 11]);
  expect(insertName("", 0, "lena")).toEqual(["@lena ", 6]);
});

it("marks who was told, and nobody else", () => {
  expect(splitMentions("@lena and @nobody: look", ["lena"])).toEqual([
    { text: "@lena", told: true },
    { text: " and @nobody: look", told: false },
  ]);
  expect(splitMentions("nothing", [])).toEqual([{ text: "nothing", told: false }]);
});
