import { expect, it } from "vitest";
import type { LogRow } from "./LogLine";
import { type LogView, layOn, layRows, rowOf } from "./logRows";
import { nothingScanned, scanLines } from "./logScan";

const rows = (...texts: string[]): LogRow[] =>
  texts.map((text, at) => {
    const [source, said] = text.includes(":") ? text.split(":") : [undefined, text];
    return { at: new Date(at * 1000).toISOString(), text: said as string, source };
  });
const lay = (lines: LogRow[], view: Partial<LogView> = {}) => {
  const scan = scanLines(nothingScanned, lines);
  const all = { grouped: false, folded: new Set<string>(), fold: true, opened: new Set<LogRow>() };
  const laid = layRows(scan, { ...all, ...view });
  return { laid, rowOf: (index: number) => rowOf(laid, index, scan) };
};

it("folds equal lines into the first, and opens that stretch only", () => {
  const lines = rows("a", "b", "b", "b", "a", "a");
  const { laid, rowOf } = lay(lines);
  expect([laid.at, laid.more]).toEqual([
    [0, 1, 4],
    [0, 2, 1],
  ]);
  expect([0, 1, 2, 3, 4, 5].map(rowOf)).toEqual([0, 1, 1, 1, 2, 2]);
  expect(laid.lines).toBe(6);
  const opened = lay(lines, { opened: new Set([lines[1] as LogRow]) }).laid;
  expect(opened.at).toEqual([0, 1, 2, 3, 4]);
  expect(lay(lines, { fold: false }).laid.at).toEqual([0, 1, 2, 3, 4, 5]);
});

it("shows what was looked for with the lines around, and says how many are left out", () => {
  const lines = rows(..."abcdefghij");
  const hits = [..."abcdefghij"].map((letter) => letter === "d" || letter === "i");
  const { laid, rowOf } = lay(lines, { only: { hits, around: 1 } });
  expect(laid.at).toEqual([2, 3, 4, 7, 8, 9]);
  expect(laid.skipped).toEqual([2, 0, 0, 2, 0, 0]);
  expect([rowOf(0), rowOf(5), rowOf(8)]).toEqual([-1, -1, 4]);
  const near = [..."abcdefghij"].map((letter) => letter === "b" || letter === "d");
  expect(lay(lines, { only: { hits: near, around: 2 } }).laid.at).toEqual([0, 1, 2, 3, 4, 5]);
  expect(lay(lines, { only: { hits: near, around: 0 } }).laid.at).toEqual([1, 3]);
});

it("does not fold a line that was looked for into one that was not", () => {
  const lines = rows("x", "x", "x");
  expect(lay(lines, { only: { hits: [false, false, true], around: 2 } }).laid.at).toEqual([0, 2]);
});

it("puts the lines of each step together, in the order of their first ones", () => {
  const lines = rows("db:x", "api:error", "db:x", "api:y", "db:z");
  const { laid, rowOf } = lay(lines, { grouped: true });
  expect(laid.at).toEqual([-1, 0, 4, -2, 1, 3]);
  expect(laid.more).toEqual([0, 1, 0, 0, 0, 0]);
  expect(laid.groups.map(({ source, lines }) => [source, lines])).toEqual([
    ["db", 3],
    ["api", 2],
  ]);
  expect([0, 1, 2, 3, 4].map(rowOf)).toEqual([1, 4, 1, 5, 2]);
  const folded = lay(lines, { grouped: true, folded: new Set(["db"]) });
  expect(folded.laid.at).toEqual([-1, -2, 1, 3]);
  expect([folded.rowOf(0), folded.rowOf(3)]).toEqual([-1, 3]);
});

it("lays on where it was when lines came, and anew when something else changed", () => {
  const lines = rows("a", "b", "b", "b", "c");
  const view = { grouped: false, folded: new Set<string>(), fold: true, opened: new Set<LogRow>() };
  const scan = (count: number) => scanLines(nothingScanned, lines.slice(0, count));
  const first = layOn(undefined, scan(3), view);
  const next = layOn(first, scan(5), view);
  expect([next.rows.at, next.rows.more, next.rows.lines]).toEqual([[0, 1, 4], [0, 2, 0], 5]);
  expect(next.rows.at).toBe(first.rows.at);
  const raw = layOn(next, scan(5), { ...view, fold: false });
  expect(raw.rows.at).toEqual([0, 1, 2, 3, 4]);
  const rest = scanLines(nothingScanned, lines.slice(2));
  expect(layOn(next, rest, view).rows.at).toEqual([0, 2]);
});

it("lays a log as long as a page keeps one in the time of some frames", () => {
  const lines = Array.from({ length: 200_000 }, (_, at) => ({
    number: at + 1,
    at: "2026-11-21T12:00:00Z",
    text: `inserted row ${at + 1} of 200000 into products, 1 of 1 ok`,
  }));
  const scan = scanLines(nothingScanned, lines);
  const more = [...lines, { ...(lines[0] as (typeof lines)[0]), number: 200_001 }];
  const begun = performance.now();
  const next = scanLines(scan, more);
  const laid = layRows(next, { grouped: false, folded: new Set(), fold: true, opened: new Set() });
  // A second where it takes some ms: what would be missed is work for each line again.
  expect(performance.now() - begun).toBeLessThan(1000);
  expect(laid.at).toHaveLength(200_001);
});
