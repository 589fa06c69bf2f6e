import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { Checks, commandsIn, type NodeCheck, sortBySeverity } from "./Checks";

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
    expect(sortBySeverity(checks).map((check) => check.id)).toEqual([
      "isolation",
      "live-restore",
      "forward-policy",
      "disk",
    ]);
  });

  it("show a command that helps as a line to copy", () => {
    const remedy = "Free some disk: 'docker system df' shows what takes it.";
    render(<Checks checks={[{ id: "disk", severity: "critical", detail: "Little.", remedy }]} />);
    expect(screen.getByText("docker system df").tagName).toBe("PRE");
    expect(screen.getByRole("button", { name: "Copy the command" })).toBeTruthy();
    expect(commandsIn("Use the engine's own profile, not the agent's.")).toEqual([]);
    expect(commandsIn("Set it: 'iptables -P FORWARD DROP'. Or upgrade.")).toEqual([
      "iptables -P FORWARD DROP",
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
