import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { Checks, type NodeCheck, sorted } from "./Checks";

afterEach(cleanup);

const checks: NodeCheck[] = [
  { id: "disk", severity: "ok", detail: "Enough disk is free." },
  { id: "live-restore", severity: "warning", detail: "It is off.", remedy: "Switch it on." },
  {
    id: "isolation",
    severity: "critical",
    detail: "Networks reach each other.",
    remedy: "Restart.",
  },
  { id: "forward-policy", severity: "unknown", detail: "It cannot be read." },
];

describe("a node's checks", () => {
  it("come with the worst first", () => {
    expect(sorted(checks).map((check) => check.id)).toEqual([
      "isolation",
      "live-restore",
      "forward-policy",
      "disk",
    ]);
  });

  it("say what was found and what to do, and fold away what passed", () => {
    render(<Checks checks={checks} />);
    expect(screen.getByRole("heading", { name: "1 of 4 checks passed" })).toBeTruthy();
    expect(screen.getByText("Networks reach each other.")).toBeTruthy();
    expect(screen.getByText("Switch it on.")).toBeTruthy();
    const passed = screen.getByText("Enough disk is free.").closest("details");
    expect(passed?.open).toBe(false);
  });
});
