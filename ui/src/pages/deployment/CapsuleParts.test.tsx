import { cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { CapsuleSteps } from "./CapsuleParts";

afterEach(cleanup);

it("a bug capsule shows each step: what it came to, how long it took, and its last lines", () => {
  const seed = {
    key: "seed",
    title: "sql-script 2.3.0",
    status: "failed" as const,
    started_at: "2026-11-21T12:00:00Z",
    ended_at: "2026-11-21T12:00:38Z",
    message: "exit code 3",
    log: ["ERROR: no such table", "<b>gone</b>"],
    tests: {
      summary: { tests: 2, failed: 1, skipped: 0, seconds: 0, marked: false },
      failures: [{ suite: "cart", name: "pays by card", message: "expected 10, got 11.9" }],
      truncated: false,
    },
  };
  const never = {
    key: "web",
    title: "shop-web",
    status: "done" as const,
    started_at: seed.started_at,
    log: [],
  };
  render(<CapsuleSteps steps={[seed, never]} services={["web"]} />);
  const card = screen.getByRole("region", { name: "Step seed" });
  for (const part of ["Failed", "sql-script 2.3.0", "took 38 s", "exit code 3", "<b>gone</b>"])
    expect(card.textContent).toContain(part);
  for (const part of ["1 of 2 tests failed", "pays by card", "expected 10, got 11.9"])
    expect(card.textContent).toContain(part);
  expect(within(card).getByRole("region", { name: "Last lines: Step seed" })).toBeTruthy();
  expect(screen.getByRole("region", { name: "Step web" }).textContent).not.toContain(
    "wrote nothing",
  );
});
