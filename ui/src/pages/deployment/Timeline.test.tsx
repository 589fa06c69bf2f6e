import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Run, Step } from "@/api/client";
import Timeline from "./Timeline";

const media = (narrow: boolean) =>
  vi.stubGlobal("matchMedia", () => ({
    matches: narrow,
    addEventListener() {},
    removeEventListener() {},
  }));
beforeEach(() => media(false));
afterEach(cleanup);

const T = Date.parse("2026-11-21T12:00:00Z");
const at = (seconds: number) => new Date(T + seconds * 1000).toISOString();
const run = {
  number: 1,
  created_at: at(0),
  queue: { queued_at: at(0), started_at: at(2) },
  result: "failed",
} as Run;
const steps = [
  {
    run: 1,
    key: "web",
    position: 1,
    kind: "service",
    title: "web",
    needs: [],
    lines: 0,
    status: "undone",
    result: "failed",
    cleanup: "undone",
    started_at: at(3),
    ended_at: at(7),
    usual_seconds: 2,
    parts: [
      { kind: "pull", from: at(2), to: at(3) },
      { kind: "start", from: at(3), to: at(4), failed: true },
      { kind: "start", from: at(5), to: at(5.5) },
      { kind: "ready", from: at(5.5), to: at(7), failed: true },
      { kind: "undo", from: at(7), to: at(8) },
    ],
  },
] as Step[];

it("has a bar for each part, exact times, and the usual run behind", async () => {
  const select = vi.fn();
  const { container } = render(
    <Timeline run={run} steps={steps} selected="web" onSelect={select} />,
  );
  const bars = [...container.querySelectorAll<HTMLElement>(".tlinner .tlpart")];
  expect(bars.map((bar) => bar.dataset.part)).toEqual([
    "queue",
    "pull",
    "start",
    "start",
    "ready",
    "undo",
  ]);
  expect(bars[1]?.title).toMatch(
    /Image pull 1.0 s, .*:02\.000.* – .*:03\.000.*, ahead of its turn/,
  );
  // Of an axis of twelve seconds.
  expect(bars.slice(1, 3).map((bar) => [bar.style.left, bar.style.width])).toEqual([
    ["16.666666666666668%", "8.333333333333334%"],
    ["25%", "8.333333333333334%"],
  ]);
  expect(container.querySelector<HTMLElement>(".tllane .tlghost")?.title).toBe(
    "web usually takes 2.0 s",
  );
  const button = screen.getByRole("button", {
    name: /^web ?4.0 s ?Failed, Undone.*Start 1.5 s \(2 times\).*usually 2.0 s/,
  });
  await userEvent.click(button);
  expect(select).toHaveBeenCalledWith("web");
  const table = screen.getByRole("table", { name: "Parts of web" });
  expect(within(table).getAllByRole("row")).toHaveLength(6);
});

it("zooms by key and by button, and shows the whole run again", async () => {
  const { container } = render(<Timeline run={run} steps={steps} onSelect={() => undefined} />);
  const width = () => container.querySelector<HTMLElement>(".tlinner")?.style.width;
  await userEvent.keyboard("+");
  await userEvent.click(screen.getByRole("button", { name: "Zoom in" }));
  expect(width()).toBe("400%");
  await userEvent.keyboard("-");
  expect(width()).toBe("200%");
  await userEvent.keyboard("0");
  expect(width()).toBe("100%");
});

it("runs down the page on a phone, with a name for each step", () => {
  media(true);
  const { container } = render(<Timeline run={run} steps={steps} onSelect={() => undefined} />);
  const tops = [...container.querySelectorAll<HTMLElement>(".tldown .tlpart")].map((bar) =>
    Number.parseFloat(bar.style.top),
  );
  expect(tops.slice(1)).toEqual([...tops.slice(1)].sort((a, b) => a - b));
  expect(screen.getByRole("button", { name: /^web.*Failed/ }).style.top).not.toBe("");
  expect(container.querySelector(".tlinner")).toBeNull();
});
