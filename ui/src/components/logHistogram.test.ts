import { expect, it } from "vitest";
import { barHeight, barPath, binAt, binLines, rowAt } from "./logHistogram";
import { nothingScanned, scanLines } from "./logScan";

const log = (count: number, step: number) =>
  scanLines(
    nothingScanned,
    Array.from({ length: count }, (_, at) => ({
      at: new Date(at * step).toISOString(),
      text: at % 10 === 0 ? "error: x" : `line ${at}`,
    })),
  );

it("counts lines, errors and what was looked for by stretch of time", () => {
  const scan = log(100, 1000);
  const hits = scan.lines.map((_, at) => at < 3);
  const bins = binLines(scan, hits, 10);
  expect(bins?.all).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
  expect(bins?.errors.every((count) => count === 1)).toBe(true);
  expect(bins?.hits).toEqual([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (!bins) throw new Error("no bins");
  expect([binAt(bins, 0), binAt(bins, 50_000), binAt(bins, 1e9), binAt(bins, -5)]).toEqual([
    0, 5, 9, 0,
  ]);
});

it("is not there for a few lines, or for no time", () => {
  expect(binLines(log(5, 1000), undefined, 10)).toBeUndefined();
  expect(binLines(log(100, 0), undefined, 10)).toBeUndefined();
  expect(binLines(nothingScanned, undefined, 10)).toBeUndefined();
});

it("leads on over a stretch in which nothing was written, in either direction", () => {
  const rows = [0, 0, 4, 4, 9];
  expect([rowAt(rows, 3, 4), rowAt(rows, 5, 4), rowAt(rows, 4, 9)]).toEqual([0, 4, 2]);
  expect([rowAt([2, 3], 1, 2), rowAt([2, 3], 5, 3)]).toEqual([0, 1]);
});

it("draws one line beside ten thousand", () => {
  expect(barHeight(0, 10_000)).toBe(0);
  expect(barHeight(1, 10_000)).toBeGreaterThan(0.1);
  expect(barHeight(10_000, 10_000)).toBe(1);
  expect(barPath([0, 4], 4, 20)).toBe("M1 20v-20.00h.8v20.00z");
});
