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

const progress = (run: number, at: number) => ({
  event: "progress",
  id: "",
  data: JSON.stringify({ run, step: "seed", at: new Date(at).toISOString() }),
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
    let state = reduce(nothingWatched, [progress(1, now)], now);
    state = reduce(state, [progress(2, now + 1000)], now + 1000);
    state = reduce(state, [progress(1, now + SIGNS + 1)], now + SIGNS + 1);
    expect(state.signs).toEqual({ "1/seed": [now + SIGNS + 1], "2/seed": [now + 1000] });
  });

  it("that a stream tells again when it opens count from when they were given", () => {
    const old = progress(1, now - 10 * 60_000);
    const state = reduce(nothingWatched, [old], now);
    expect(state.signs["1/seed"]).toEqual([now - 10 * 60_000]);
    const { container } = render(
      <HeartBeat step={{ ...step(), started_at: undefined }} signs={state.signs["1/seed"]} />,
    );
    expect(container.querySelectorAll("[data-on]").length).toBe(0);
    expect(reduce(state, [old], now + 5000).signs).toBe(state.signs);
  });

  it.each([
    ["behind", -600_000],
    ["ahead", 600_000],
  ])("are told right by a server whose clock is %s", (_, by) => {
    let state = reduce(nothingWatched, [progress(1, now + by)], now);
    state = reduce(state, [progress(1, now + by + 2000)], now + 2100);
    expect(state.signs["1/seed"]?.at(-1)).toBeGreaterThan(now + 1990);
    // Another step, silent for five minutes, that is told when the stream opens anew.
    state = reduce(state, [progress(2, now + by - 300_000)], now + 3000);
    expect(now + 3000 - (state.signs["2/seed"]?.[0] ?? 0)).toBeGreaterThan(290_000);
  });

  it("are of a pull its bytes: half a minute without one is no sign, whatever the usual time", () => {
    const pulls: Step = { ...step(600), status: "pulling" };
    expect(paceOf(pulls, [now - 4000], now).kind).toBe("usual");
    expect(paceOf(pulls, [now - 31_000], now).kind).toBe("silent");
  });

  it("count from its start of a step whose image was pulled long ago", () => {
    const began = { ...step(), started_at: new Date(now - 3000).toISOString() };
    expect(paceOf(began, [now - 300_000], now)).toMatchObject({ kind: "usual", quiet: 3000 });
  });

  it("are of a service the answers to its readiness check, and say so", () => {
    const service: Step = { ...step(600_000_000), kind: "service" };
    const { container } = render(<HeartBeat step={service} signs={[Date.now()]} />);
    expect(container.textContent).toBe("Waits for its readiness check");
  });

  it("are said in words", () => {
    const { container } = render(<HeartBeat step={step(20)} signs={[Date.now()]} />);
    expect(container.textContent).toMatch(/^Slow, .* over the usual, still alive$/);
    expect(container.querySelectorAll("[data-on]").length).toBe(1);
  });
});
