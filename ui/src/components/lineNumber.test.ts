import { expect, it } from "vitest";
import { numberInAttempt, sayAttempt, sayLine } from "./lineNumber";

it("counts the lines of each attempt from one", () => {
  expect([1, 1_048_576, 1_048_577, 8_388_609, 9_437_196].map(sayLine)).toEqual([
    "Line 1",
    "Line 1048576",
    "Attempt 2, line 1",
    "Undo, line 1",
    "Undo, attempt 2, line 12",
  ]);
  expect(numberInAttempt(8_388_609)).toBe(1);
  expect(sayAttempt(7)).toBeUndefined();
});
