import { expect, it } from "vitest";
import type { Deployment } from "@/api/client";
import { leftOf } from "./LifetimeLeft";

const now = Date.parse("2026-11-21T12:00:00Z");
const at = (more: Partial<Deployment>) => leftOf(more as Deployment, now);
const hold = { owner: "bob", reason: "a demo", since: "2026-11-20T12:00:00Z" };

it.each([
  ["2026-11-24T09:00:00Z", "2 d 21 h", false],
  ["2026-11-21T17:05:00Z", "5 h 5 min", true],
  ["2026-11-21T12:00:20Z", "1 min", true],
  ["2026-11-21T11:00:00Z", "over", true],
])("until %s: %s", (expires_at, text, soon) =>
  expect(at({ expires_at })).toMatchObject({ text, soon }),
);

it("says nothing of what has no end, and who holds what is held", () => {
  expect(at({}).text).toBe("");
  expect(at({ hold, expires_at: "2026-11-24T09:00:00Z" })).toMatchObject({ text: "held" });
  expect(at({ hold }).title).toMatch(/bob.*a demo/);
  expect(at({ hold: { ...hold, until: "2026-11-21T11:00:00Z" } }).text).toBe("");
});
