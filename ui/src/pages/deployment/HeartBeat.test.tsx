import { cleanup, render } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import type { Step } from "@/api/client";
import { nothingWatched, reduce, SIGNS } from "@/api/run";
import { HeartBeat, paceOf } from "./HeartBeat";

afterEach(cleanup);

const now = Date.parse("2026-11-21T12:01:40Z");
const step = (usual?: number): Step => ({
  run: 1,
  key: "seed",
  position: 1,
  kind: "plugin",
  title: "sql-script 2.3.0",
  needs: [],
  status: "running",
  lines: 0,
  started_at: "2026-11-21T12:00:00Z",
  usual_seconds: usual,
});

describe("signs of life", () => {
  it.each([
    ["within its usual time", 120, [now - 500], "usual"],
    ["silent, and within its usual time", 120, [], "usual"],
    ["over its usual time, and speaking", 20, [now - 4000], "slow"],
    ["over its usual time, and silent", 20, [now - 31_000], "silent"],
    ["without a usual time, and silent", undefined, [], "silent"],
  ] as const)("tell slow from stuck: %s", (_, usual, signs, kind) =>
    expect(paceOf(step(usual), [...signs], now).kind).toBe(kind),
  );

  it("are kept for half a minute, by step and run", () => {
    const progress = (run: number) => ({
      event: "progress",
      id: "",
      data: JSON.stringify({ run, step: "seed", at: "2026-11-21T12:00:00Z" }),
    });
    let state = reduce(nothingWatched, [progress(1)], now);
    state = reduce(state, [progress(2)], now + 1000);
    state = reduce(state, [progress(1)], now + SIGNS + 1);
    expect(state.signs).toEqual({ "1/seed": [now + SIGNS + 1], "2/seed": [now + 1000] });
  });

  it("are said in words", () => {
    const { container } = render(<HeartBeat step={step(20)} signs={[Date.now()]} />);
    expect(container.textContent).toMatch(/^Slow, .* over the usual, still alive$/);
    expect(container.querySelectorAll("[data-on]").length).toBe(1);
  });
});
