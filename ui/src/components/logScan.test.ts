import { expect, it } from "vitest";
import { countGone, nothingScanned, scanLines, searchLines } from "./logScan";

const row = (text: string, more = {}) => ({ at: "2026-11-21T12:00:00Z", text, ...more });
const errorsOf = (scan: typeof nothingScanned) =>
  scan.levels.flatMap((level, at) => (level === "error" ? [at] : []));

it("reads on where it stopped, also where lines were let go", () => {
  const lines = [row("ok"), row("error: a"), row("\u001b[31mERROR\u001b[0m b"), row('{"msg":"c"}')];
  const first = scanLines(nothingScanned, lines.slice(0, 2));
  expect([errorsOf(first), first.records, first.leveled]).toEqual([[1], false, true]);
  const more = scanLines(first, lines);
  expect([errorsOf(more), more.records]).toEqual([[1, 2], true]);
  const rest = scanLines(more, lines.slice(2));
  expect([errorsOf(rest), rest.times.length]).toEqual([[0], 2]);
  expect(nothingScanned).toMatchObject({ lines: [], levels: [], records: false });
});

it("knows the rest of a log from another one", () => {
  const [a, b, c] = [row("a"), row("b"), row("c")];
  expect(countGone([a, b], [a, b, c])).toBe(0);
  expect(countGone([a, b], [b, c])).toBe(1);
  expect(countGone([a, b], [row("a"), b])).toBe(-1);
  expect(countGone([a, b, c], [a, b])).toBe(-1);
  expect(countGone([], [a])).toBe(-1);
});

it("takes lines for equal that differ in their moment only", () => {
  const same = (...texts: string[]) =>
    scanLines(
      nothingScanned,
      texts.map((text) => row(text)),
    ).equal;
  expect(same("waiting for db", "waiting for db")).toEqual([false, true]);
  expect(same("2026-11-21T12:00:00.1Z ping", "2026-11-21T12:00:01.25Z ping")[1]).toBe(true);
  expect(same("12:00:00 ping", "12:00:01 ping")[1]).toBe(true);
  expect(same('{"ts":1732190400.1,"msg":"x"}', '{"ts":1732190401.2,"msg":"x"}')[1]).toBe(true);
  expect(same("inserted row 1 of 9", "inserted row 2 of 9")[1]).toBe(false);
  expect(same("12:00:00 a", "12:00:01 b")[1]).toBe(false);
  expect(same("", "")[1]).toBe(false);
});

it("takes a line for equal only to one of its source and attempt, with nothing left out", () => {
  const lines = [
    row("x", { source: "a" }),
    row("x", { source: "b" }),
    row("x", { source: "a" }),
    row("x", { source: "a", dropped: 3 }),
  ];
  expect(scanLines(nothingScanned, lines).equal).toEqual([false, false, true, false]);
  const attempts = [row("x", { number: 1 }), row("x", { number: 1_048_577 })];
  expect(scanLines(nothingScanned, attempts).equal).toEqual([false, false]);
});

it("looks for text as it reads, not for a pattern, and reads on", () => {
  const lines = [row("a.b"), row("\u001b[31mA.B\u001b[0m"), row("axb")];
  const found = searchLines({ text: "", lines: [], hits: [] }, lines.slice(0, 2), "a.b");
  expect(found.hits).toEqual([true, true]);
  expect(searchLines(found, lines, "a.b").hits).toEqual([true, true, false]);
  expect(searchLines(found, lines, "x").hits).toEqual([false, false, true]);
});
