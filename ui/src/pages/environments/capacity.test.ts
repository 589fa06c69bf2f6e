import { expect, it } from "vitest";
import { capacityOf, capacityValues } from "./CapacityFields";

it("an environment's capacity rules survive the form, and empty fields are the defaults", () => {
  const rules = { cpu_overcommit: 1.5, busy_cpu_percent: 80, busy_seconds: 120 };
  expect(capacityOf(capacityValues(rules))).toEqual(rules);
  expect(capacityOf(capacityValues(undefined))).toBeUndefined();
  expect(capacityOf({ ...capacityValues(undefined), busy_seconds: "60" })).toEqual({
    busy_seconds: 60,
  });
});
