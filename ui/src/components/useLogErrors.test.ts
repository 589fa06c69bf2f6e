import { expect, it } from "vitest";
import { scanLines } from "./useLogErrors";

const row = (text: string) => ({ at: "2026-11-21T12:00:00Z", text });
const nothing = { lines: [], errors: [], records: false, levels: false };

it("reads on where it stopped, and anew where lines were let go", () => {
  const lines = [row("ok"), row("error: a"), row("\u001b[31mERROR\u001b[0m b"), row('{"msg":"c"}')];
  const first = scanLines(nothing, lines.slice(0, 2));
  expect([first.errors, first.records, first.levels]).toEqual([[1], false, true]);
  const more = scanLines(first, lines);
  expect([more.errors, more.records]).toEqual([[1, 2], true]);
  expect(first.errors).toEqual([1]);
  expect(scanLines(more, lines.slice(2)).errors).toEqual([0]);
});
