import { describe, expect, it } from "vitest";
import type { Step } from "@/api/client";
import { elapsedTime, workingTime } from "./elapsedTime";

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21, 12, 0, seconds)).toISOString();
const step = (kind: Step["kind"], from?: number, to?: number): Step => ({
  run: 1,
  key: kind,
  position: 1,
  kind,
  title: "",
  needs: [],
  lines: 0,
  status: to === undefined ? "running" : "done",
  started_at: from === undefined ? undefined : at(from),
  ended_at: to === undefined ? undefined : at(to),
});
const now = Date.parse(at(500));

describe("how long a run has worked", () => {
  it("counts from its first step, not from the queue it stood in", () =>
    expect(workingTime([step("service", 300, 310), step("plugin", 310)], undefined, now)).toBe(
      200e3,
    ));

  it("leaves out what people took to answer", () => {
    const steps = [step("service", 300, 310), step("approval", 310, 400), step("plugin", 400, 430)];
    expect(workingTime(steps, at(430), now)).toBe(40e3);
  });

  it("stands still while a question is open", () => {
    const steps = [step("service", 300, 310), step("approval", 310)];
    expect(workingTime(steps, undefined, now)).toBe(10e3);
    expect(workingTime(steps, undefined, now + 60e3)).toBe(10e3);
  });

  it("is not known before its first step", () =>
    expect(workingTime([step("service")], undefined, now)).toBeNaN());
});

it("what a step took is not known while nobody hears of it", () => {
  expect(elapsedTime({ ...step("plugin", 300), status: "unknown" }, now)).toBeNaN();
  expect(elapsedTime({ ...step("plugin", 300, 310), status: "unknown" }, now)).toBe(10e3);
});
