import { describe, expect, it } from "vitest";
import type { LogLine } from "./client";
import { addLines, addPage, emptyLog, hasGap, lastNumber } from "./log";

const line = (number: number, dropped?: number): LogLine => ({
  run: 1,
  step: "seed",
  number,
  at: "2026-11-21T12:00:00Z",
  text: `line ${number}`,
  dropped,
});
const numbers = (log: { lines: LogLine[] }) => log.lines.map((one) => one.number);
const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => line(from + i));

describe("a step's log", () => {
  it("ignores doubles", () => {
    const log = addLines(addLines(emptyLog, lines(1, 3)), lines(2, 4));
    expect(numbers(log)).toEqual([1, 2, 3, 4]);
  });

  it("returns the same object when nothing is new", () => {
    const log = addLines(emptyLog, lines(1, 3));
    expect(addLines(log, lines(1, 3))).toBe(log);
  });

  it("holds lines back behind a gap until it is read", () => {
    let log = addLines(emptyLog, lines(1, 2));
    log = addLines(log, lines(5, 6));
    expect(hasGap(log)).toBe(true);
    expect(numbers(log)).toEqual([1, 2]);
    log = addPage(log, lastNumber(log), lines(3, 5));
    expect(hasGap(log)).toBe(false);
    expect(numbers(log)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("takes lines in any order", () => {
    const log = addLines(emptyLog, [line(3), line(1), line(2)]);
    expect(numbers(log)).toEqual([1, 2, 3]);
  });

  it("sees left out lines as told, not as missing, whichever way they are numbered", () => {
    expect(numbers(addLines(emptyLog, [line(1), line(1206, 1204)]))).toEqual([1, 1206]);
    expect(numbers(addLines(emptyLog, [line(1), line(2, 1204)]))).toEqual([1, 2]);
  });

  it("believes the server about jumps inside a page", () => {
    const log = addPage(emptyLog, 0, [line(1), line(9)]);
    expect(numbers(log)).toEqual([1, 9]);
    expect(hasGap(log)).toBe(false);
  });

  it("is the same log whatever crosses: 1,000 seeded interleavings", () => {
    for (let seed = 1; seed <= 1000; seed++) {
      let random = seed;
      const next = (below: number) => {
        random = (random * 1103515245 + 12345) % 2147483648;
        return random % below;
      };
      let log = emptyLog;
      let told = 0;
      while (told < 40) {
        const from = Math.max(1, told + 1 - next(4));
        told = Math.min(40, told + 1 + next(5));
        // Some batches are lost to this page, as when the link breaks.
        if (next(4) > 0) log = addLines(log, lines(from, told));
        if (next(6) === 0) log = addPage(log, lastNumber(log), lines(lastNumber(log) + 1, told));
      }
      log = addPage(log, lastNumber(log), lines(lastNumber(log) + 1, 40));
      expect(numbers(log), `seed ${seed}`).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    }
  });

  it("keeps the newest 200,000 lines and says how many it let go", () => {
    const log = addLines(emptyLog, lines(1, 230_000));
    expect(log.lines).toHaveLength(200_000);
    expect(log.cut).toBe(30_000);
  });
});
