import { expect, it } from "vitest";
import { formatCost, gibHours, hours } from "./amounts";

it("says amounts in hours, and what they cost", () => {
  expect(hours(5400)).toBe("1.5");
  expect(gibHours(2 * 1024 ** 3 * 3600)).toBe("2");
  expect(formatCost(1.5, "EUR")).toBe("1.50 EUR");
  expect(formatCost(undefined, "EUR")).toBe("0.00 EUR");
});
