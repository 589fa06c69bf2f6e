import { expect, it } from "vitest";
import { split } from "./Middle";

it.each([
  [["feat-51d0e7b"], 4, [["feat"], ["-51d0e7b"]]],
  [
    ["a", "bcd", "e"],
    2,
    [
      ["a", "b", ""],
      ["", "cd", "e"],
    ],
  ],
  [["ab"], 2, [["ab"], [""]]],
])("%j at %s", (parts, at, both) => expect(split(parts, at)).toEqual(both));
