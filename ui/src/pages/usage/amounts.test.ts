import { expect, it } from "vitest";
import { formatCost, formatShare, gibHours, hours, periodOf, weightOf } from "./amounts";

it("says amounts in hours, and what they cost", () => {
  expect(hours(5400)).toBe("1.5");
  expect(hours(180)).toBe("0.05");
  expect(hours(0)).toBe("0");
  expect(gibHours(2 * 1024 ** 3 * 3600)).toBe("2");
  expect(formatCost(1.5, "EUR")).toBe("1.50 EUR");
  expect(formatCost(undefined, "EUR")).toBe("0.00 EUR");
});

it("knows the days of a period, over the turn of a year too", () => {
  const now = new Date("2027-01-03T23:59:00Z");
  expect(periodOf("month", now)).toEqual({});
  expect(periodOf("last", now)).toEqual({ from: "2026-12-01", to: "2027-01-01" });
  expect(periodOf("week", now)).toEqual({ from: "2026-12-28" });
});

it("shares cost where there are prices, and processor time where there are none", () => {
  const one = { cost: 3, amounts: { cpu_seconds: 60 } };
  expect(weightOf(one, true)).toBe(3);
  expect(weightOf(one, false)).toBe(60);
  // What was taken back may be more than what is left of the period.
  expect(weightOf({ ...one, cost: -1 }, true)).toBe(0);
  expect([formatShare(1, 4), formatShare(1, 400), formatShare(0, 0)]).toEqual([
    "25 %",
    "<1 %",
    "0 %",
  ]);
});
