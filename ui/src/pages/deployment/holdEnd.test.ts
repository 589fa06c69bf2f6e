import { expect, it } from "vitest";
import { dayOf } from "@/components/time";
import { endOfDay, isEnd } from "./holdEnd";

const now = new Date("2026-11-24T12:00:00").getTime();

it("gives the end of a day, and nothing of what cannot be written", () => {
  expect(endOfDay("2026-11-30")).toBe(new Date("2026-11-30T23:59:59").toISOString());
  for (const day of ["", "20266-11-30", "2026-13-41", "soon"])
    expect(endOfDay(day)).toBeUndefined();
});

it("takes today and what is to come", () => {
  expect(isEnd(dayOf(new Date(now)), now)).toBe(true);
  expect(isEnd("9999-12-31", now)).toBe(true);
  for (const day of ["2026-11-23", "0002-11-30", "20266-11-30"])
    expect(isEnd(day, now)).toBe(false);
});
