import { expect, it } from "vitest";
import { formatDeadline, parseDeadline } from "./deadlineField";

const at = "2026-11-21T12:05:00.000Z";

it("takes a moment to the field and back, by whatever clock the reader has", () => {
  expect(formatDeadline(at)).toMatch(/^2026-11-2\dT\d\d:\d5$/);
  expect(parseDeadline(formatDeadline(at), Date.parse(at) - 1)).toEqual({ deadline: at });
  expect(formatDeadline(undefined)).toBe("");
});

it("is no deadline when nothing is typed, and none in the past", () => {
  expect(parseDeadline("", 0)).toEqual({});
  expect(parseDeadline(formatDeadline(at), Date.parse(at))).toEqual({ past: true });
});
