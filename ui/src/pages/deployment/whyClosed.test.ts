import { expect, it } from "vitest";
import { whyClosed } from "./whyClosed";

it("opens what is healthy and runs", () => {
  expect(whyClosed("ready", "healthy", false)).toBeUndefined();
  expect(whyClosed("applying", "healthy", false)).toBeUndefined();
});

it("promises an answer only of what is still to come", () => {
  for (const [status, health, waiting] of [
    ["queued", "unknown", false],
    ["applying", "unknown", true],
    ["ready", "starting", false],
    ["ready", "unhealthy", false],
  ] as const)
    expect(whyClosed(status, health, waiting)).toMatch(/It opens when/);
  for (const status of ["failed", "stuck", "removed", "canceled", "forgotten"] as const)
    expect(whyClosed(status, "healthy", false)).toMatch(
      new RegExp(`is ${status}: nothing answers`),
    );
  for (const status of ["removing", "undoing"] as const)
    expect(whyClosed(status, "healthy", false)).toMatch(/no longer works/);
});

it("says what is known of a service that does not answer", () => {
  expect(whyClosed("ready", "stopped", false)).toMatch(/its log says why/);
  expect(whyClosed("ready", "unknown", false)).toMatch(/state is unknown/);
});
