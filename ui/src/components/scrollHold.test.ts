import { describe, expect, it } from "vitest";
import { type Held, holdLines } from "./scrollHold";

type Row = { text: string };
const rows = Array.from({ length: 30 }, (_, at): Row => ({ text: String(at + 1) }));
/** What a page keeps that has let go the first ones. */
const told = (cut: number, to: number): Held<Row> => ({ lines: rows.slice(cut, to), cut, more: 0 });

describe("a log that somebody reads in", () => {
  it("loses no line that is shown, though the page lets lines go at its beginning", () => {
    const shown = [told(2, 12), told(5, 15), told(9, 19)].reduce((all, next) =>
      holdLines(all, next),
    );
    expect(shown).toEqual({ lines: rows.slice(2, 19), cut: 2, more: 0 });
    expect(holdLines(told(0, 10), told(4, 14)).lines).toEqual(rows.slice(0, 14));
  });

  it("is not copied when nothing came", () => {
    const shown = told(0, 10);
    expect(holdLines(shown, told(0, 10)).lines).toBe(shown.lines);
  });

  it("grows no more at its bound, and counts what it does not show", () => {
    const full = holdLines(told(0, 10), told(3, 13), 12);
    expect(full).toEqual({ lines: rows.slice(0, 10), cut: 0, more: 3 });
    expect(holdLines(full, told(15, 25), 12)).toEqual({ ...full, more: 10 });
  });

  it("gives way to another log", () => {
    const other = { lines: [{ text: "a" }], cut: 0, more: 0 };
    expect(holdLines(told(0, 10), other)).toEqual(other);
    expect(holdLines(told(0, 10), { lines: [], cut: 0, more: 0 }).lines).toEqual([]);
  });
});
