import { cleanup as cleanupAll, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Step } from "@/api/client";
import { edgeState } from "./Graph";
import { StepNode } from "./StepNode";

afterEach(cleanupAll);

const step = (more: Partial<Step> = {}): Step => ({
  run: 1,
  key: "sql-seed",
  position: 6,
  kind: "plugin",
  title: "sql-script 2.3.0",
  needs: [],
  status: "done",
  lines: 0,
  started_at: "2026-11-21T12:00:00Z",
  ended_at: "2026-11-21T12:00:38Z",
  usual_seconds: 31,
  ...more,
});

describe("a step", () => {
  it("has its state, its order and its times in words", async () => {
    const select = vi.fn();
    render(<StepNode step={step()} selected={false} onSelect={select} />);
    const button = screen.getByRole("button", { name: /sql-seed.*Done/ });
    for (const part of ["6", "38 s", "usual 31 s"]) expect(button.textContent).toContain(part);
    await userEvent.click(button);
    expect(select).toHaveBeenCalledWith("sql-seed");
  });

  it("says its usual time only where that is another", () => {
    const { container } = render(
      <StepNode step={step({ usual_seconds: 38 })} selected={false} onSelect={() => {}} />,
    );
    expect(container.textContent).toContain("38 s");
    expect(container.textContent).not.toContain("usual");
  });

  it("that pulls shows how much of how much", () => {
    const progress = {
      run: 1,
      step: "sql-seed",
      at: "2026-11-21T12:00:01Z",
      pulled_bytes: 148e6,
      total_bytes: 243e6,
      pulled_layers: 3,
      total_layers: 7,
    };
    const { container } = render(
      <StepNode
        step={step({ status: "pulling", ended_at: undefined })}
        progress={progress}
        signs={[Date.now()]}
        selected
        onSelect={() => {}}
      />,
    );
    expect(container.textContent).toContain("148 MB");
    expect(container.textContent).toContain("of 243 MB");
    expect(container.textContent).toContain("3 of 7 layers here");
    expect(container.querySelector<HTMLElement>(".bar i")?.style.width).toBe("61%");
  });

  it("that pulls nothing for half a minute says so in place of the bar", () => {
    const started_at = new Date(Date.now() - 60_000).toISOString();
    const { container } = render(
      <StepNode
        step={step({ status: "pulling", started_at, ended_at: undefined })}
        progress={{ run: 1, step: "sql-seed", at: started_at, pulled_bytes: 4e6, total_bytes: 9e6 }}
        signs={[Date.now() - 45_000]}
        selected
        onSelect={() => {}}
      />,
    );
    expect(container.textContent).toMatch(/No sign of life for 4\d s/);
    expect(container.querySelector(".bar")).toBeNull();
  });

  it.each([
    ["failed", "Failed"],
    ["done", "Done"],
  ] as const)("that is %s keeps that result when it is undone", (result, word) => {
    for (const cleanup of ["undoing", "undone"] as const) {
      const { container } = render(
        <StepNode step={step({ status: cleanup, result, cleanup })} selected onSelect={() => {}} />,
      );
      // promise: U-02
      expect(container.querySelector(".sn")?.getAttribute("data-st")).toBe(result);
      expect(container.querySelector(".ti")?.textContent).toContain(word);
      expect(container.querySelector(".du .st")?.getAttribute("data-st")).toBe(cleanup);
      expect(container.querySelector(".du")?.textContent).toContain("38 s");
      cleanupAll();
    }
  });

  it("that was undone before it had a result is undone", () => {
    const { container } = render(
      <StepNode
        step={step({ status: "undone", cleanup: "undone" })}
        selected
        onSelect={() => {}}
      />,
    );
    expect(container.querySelector(".sn")?.getAttribute("data-st")).toBe("undone");
  });

  it("of which nobody hears counts nothing on", () => {
    const unknown = step({ status: "unknown", ended_at: undefined });
    const { container } = render(<StepNode step={unknown} selected onSelect={() => {}} />);
    expect(container.querySelector(".du")?.textContent).toBe("Unknown");
  });

  it("that waits shows the pull that is made ahead, until it is complete", () => {
    const waiting = step({ status: "pending", started_at: undefined, ended_at: undefined });
    const at = { run: 1, step: "sql-seed", at: "2026-11-21T12:00:01Z", total_bytes: 40e6 };
    const ahead = (pulled: number) => (
      <StepNode
        step={waiting}
        progress={{ ...at, pulled_bytes: pulled }}
        selected
        onSelect={() => {}}
      />
    );
    const { container, rerender } = render(ahead(20e6));
    expect(container.textContent).toContain("of 40 MB");
    rerender(ahead(40e6));
    expect(container.querySelector(".bar")).toBeNull();
  });

  it.each([
    ["done", "done", "done"],
    ["done", "running", "running"],
    ["done", "pending", "pending"],
    ["done", "failed", "failed"],
    ["undone", "undone", "undone"],
    ["pending", "pending", "pending"],
  ] as const)("an edge from %s to %s is %s", (from, to, state) =>
    expect(edgeState(step({ status: from }), step({ status: to }))).toBe(state),
  );
});
