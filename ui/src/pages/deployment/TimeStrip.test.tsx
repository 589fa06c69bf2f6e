import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Step } from "@/api/client";
import { TimeStrip } from "./TimeStrip";

afterEach(cleanup);

const step = (key: string, status: Step["status"], seconds: number): Step => ({
  run: 1,
  key,
  position: 1,
  kind: "plugin",
  title: key,
  needs: [],
  status,
  lines: 0,
  started_at: new Date(Date.now() - seconds * 1000).toISOString(),
  usual_seconds: 20,
});

it("marks in a step that is over its usual time where that ended, for the eye and in words", () => {
  const { container } = render(<TimeStrip steps={[step("seed", "running", 80)]} />);
  const mark = container.querySelector<HTMLElement>(".um");
  expect(Number.parseFloat(mark?.style.left ?? "")).toBeCloseTo(25, 0);
  expect(container.textContent).toContain("usual 20 s");
  expect(screen.getByRole("img").getAttribute("aria-label")).toContain("usual 20 s");
});

it("keeps every width while a step takes longer", () => {
  const widths = [10, 80].map((seconds) => {
    const steps = [
      step("seed", "running", seconds),
      { ...step("web", "pending", 0), usual_seconds: 5 },
    ];
    const { container } = render(<TimeStrip steps={steps} />);
    const all = [...container.querySelectorAll<HTMLElement>(".sg1")].map((one) => one.style.flex);
    cleanup();
    return all;
  });
  expect(widths[0]).toHaveLength(2);
  expect(widths[0]).toEqual(widths[1]);
});

it("marks nothing in a step that is within it, or over and done", () => {
  const steps = [step("seed", "running", 10), { ...step("web", "done", 80), ended_at: undefined }];
  const { container } = render(<TimeStrip steps={steps} />);
  expect(container.querySelector(".um")).toBeNull();
});
