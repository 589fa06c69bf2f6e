import { expect, it } from "vitest";
import type { Run, Step } from "@/api/client";
import { axisLength, axisTicks, buildTimeline, sumParts } from "./timeline";

const T = Date.parse("2026-11-21T12:00:00Z");
const at = (seconds: number) => new Date(T + seconds * 1000).toISOString();
const part = (kind: string, from: number, to: number, failed?: boolean) =>
  ({ kind, from: at(from), to: at(to), failed }) as NonNullable<Step["parts"]>[number];
const step = (key: string, more: Partial<Step>) =>
  ({
    run: 1,
    key,
    position: 1,
    kind: "service",
    title: key,
    needs: [],
    status: "done",
    lines: 0,
    ...more,
  }) as Step;
const run = (more: Partial<Run> = {}) =>
  ({
    number: 1,
    created_at: at(0),
    queue: { queued_at: at(0), started_at: at(2) },
    ...more,
  }) as Run;
const shown = (parts: { kind: string; from: number; to: number }[]) =>
  parts.map(({ kind, from, to }) => `${kind} ${(from - T) / 1000}-${(to - T) / 1000}`);

it("lays queue, pull, what was prepared, start and readiness on one axis", () => {
  const timeline = buildTimeline(
    run(),
    [
      step("db", {
        started_at: at(3),
        ended_at: at(8),
        parts: [part("pull", 3, 5), part("start", 5, 6), part("ready", 6, 8)],
        usual_seconds: 4,
      }),
      step("web", {
        started_at: at(8),
        ended_at: at(9),
        parts: [part("pull", 3, 4), part("sandbox", 6, 7), part("start", 8, 9)],
        usual_seconds: 2,
      }),
    ],
    T + 60_000,
  );
  expect(timeline?.lanes.map((lane) => [lane.key, shown(lane.parts)])).toEqual([
    ["", ["queue 0-2", "prepare 2-3"]],
    ["db", ["pull 3-5", "start 5-6", "ready 6-8"]],
    ["web", ["pull 3-4", "sandbox 6-7", "start 8-9"]],
  ]);
  expect(timeline?.lanes[2]?.parts.map((one) => one.ahead)).toEqual([true, true, false]);
  expect(
    timeline?.lanes.map((lane) => lane.ghost && shown([{ kind: "", ...lane.ghost }])[0]),
  ).toEqual([undefined, " 3-7", " 7-9"]);
  expect([timeline?.start, timeline?.end, timeline?.live]).toEqual([T, T + 9000, false]);
});

it("counts what goes on until now, and keeps the axis until the run is longer", () => {
  const steps = [
    step("web", {
      status: "running",
      started_at: at(3),
      usual_seconds: 10,
      parts: [part("pull", 3, 4)],
    }),
  ];
  const lengths = [5, 9, 12, 19, 21].map((now) => {
    const timeline = buildTimeline(run(), steps, T + now * 1000);
    expect(shown(timeline?.lanes[1]?.parts ?? [])[1]).toBe(`ready 4-${now}`);
    expect(timeline?.live).toBe(true);
    return timeline ? axisLength(timeline) / 1000 : 0;
  });
  expect(lengths).toEqual([20, 20, 20, 20, 30]);
});

it("shows what an older agent tells, and tells the undo of a failure from a later removal", () => {
  const told = { started_at: at(3), ended_at: at(4), undone_at: at(9) };
  const failed = buildTimeline(run({ result: "failed" }), [step("web", told)], T + 60_000);
  expect(shown(failed?.lanes[1]?.parts ?? [])).toEqual(["step 3-4", "undo 9-9"]);
  const removed = buildTimeline(
    run({ result: "ready" }),
    [
      step("web", {
        ...told,
        undone_at: at(90_000),
        parts: [part("start", 3, 4), part("undo", 89_000, 90_000)],
      }),
    ],
    T + 99_000_000,
  );
  expect(shown(removed?.lanes[1]?.parts ?? [])).toEqual(["start 3-4"]);
  expect(removed?.end).toBe(T + 4000);
});

it("knows of a run that waits for its turn", () => {
  const timeline = buildTimeline(
    run({ queue: { queued_at: at(0) } as Run["queue"] }),
    [step("web", { status: "pending" })],
    T + 7000,
  );
  expect(timeline?.lanes.map((lane) => shown(lane.parts))).toEqual([["queue 0-7"], []]);
  expect(timeline?.live).toBe(true);
});

it("has round ticks", () => {
  expect(axisTicks(20_000, 6)).toEqual([0, 5000, 10_000, 15_000, 20_000]);
  expect(axisTicks(1000, 6)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(axisTicks(120_000, 6)).toEqual([0, 30_000, 60_000, 90_000, 120_000]);
});

it("adds up what was tried again", () => {
  const parts = [
    { kind: "start" as const, from: 0, to: 10 },
    { kind: "ready" as const, from: 10, to: 15 },
    { kind: "start" as const, from: 20, to: 25 },
  ];
  expect(sumParts(parts)).toEqual([
    { kind: "start", ms: 15, times: 2 },
    { kind: "ready", ms: 5, times: 1 },
  ]);
});
