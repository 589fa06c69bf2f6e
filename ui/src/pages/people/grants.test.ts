import { expect, test } from "vitest";
import { levelOf, withLevel } from "./grants";

const grants = [
  { project: "shop", level: "read" as const },
  { environment: "shop", level: "full" as const },
];

test("a level is of exactly one project or environment", () => {
  expect(levelOf(grants, { project: "shop" })).toBe("read");
  expect(levelOf(grants, { environment: "shop" })).toBe("full");
  expect(levelOf(grants, { project: "blog" })).toBe("none");
});

test("a changed level leaves all others alone", () => {
  expect(withLevel(grants, { project: "shop" }, "full")).toEqual([
    grants[1],
    { project: "shop", level: "full" },
  ]);
  expect(withLevel(grants, { environment: "shop" }, "none")).toEqual([grants[0]]);
});
