import { describe, expect, it } from "vitest";
import {
  dayOf,
  formatAgo,
  formatDuration,
  formatOffset,
  formatRelative,
  formatShortAgo,
  minuteOf,
} from "./time";

const now = new Date("2026-11-21T12:00:00Z").getTime();
const before = (seconds: number) => new Date(now - seconds * 1000).toISOString();

describe("time", () => {
  it.each([
    [3, "now"],
    [42, "42 s"],
    [12 * 60 + 5, "12 min"],
    [3 * 3600, "3 h"],
    [49 * 3600, "2 d"],
  ])("%i s before reads %s", (seconds, text) =>
    expect(formatShortAgo(before(seconds), now)).toBe(text),
  );

  it("says ago, except for now", () => {
    expect(formatAgo(before(1), now)).toBe("now");
    expect(formatAgo(before(90), now)).toBe("1 min ago");
  });

  it("does not go into the future when clocks differ", () =>
    expect(formatAgo(before(-30), now)).toBe("now"));

  it.each([
    [400, "0.4 s"],
    [9949, "9.9 s"],
    [38_000, "38 s"],
    [100_000, "1 min 40 s"],
    [120_000, "2 min"],
    [2 * 86_400_000 + 21 * 3_600_000, "2 d 21 h"],
  ])("%i ms is %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  it("says nothing rather than NaN", () => expect(formatDuration(Number.NaN)).toBe(""));

  it("gives log offsets one width", () => {
    expect(formatOffset("2026-11-21T12:00:00.412Z", "2026-11-21T12:00:00Z")).toBe("0.412");
    expect(formatOffset("2026-11-21T12:00:24.77Z", "2026-11-21T12:00:00Z")).toBe("24.77");
    expect(formatOffset("2026-11-21T11:59:59Z", "2026-11-21T12:00:00Z")).toBe("0.000");
  });

  it("says how far ahead what is to come is", () => {
    const said = [-86_400 * 5, -90, -5, 0, 90].map((seconds) =>
      formatRelative(before(seconds), now),
    );
    expect(said).toEqual(["in 5 d", "in 1 min", "now", "now", "1 min ago"]);
  });

  it("gives day and minute as fields have them, by the reader's clock", () => {
    const date = new Date(2026, 0, 2, 3, 4, 59);
    expect([dayOf(date), minuteOf(date)]).toEqual(["2026-01-02", "2026-01-02T03:04"]);
  });
});
