import { expect, it } from "vitest";
import { diffLines, findHunks } from "./lineDiff";

const signs = (old: string, now: string) =>
  diffLines(old, now).map(({ sign, text }) => `${sign}${text}`);

it("keeps the lines that two texts have in common", () => {
  expect(signs("a\nb\nc\nd", "a\nx\nc\ny\nd")).toEqual([" a", "−b", "+x", " c", "+y", " d"]);
  expect(signs("a", "a")).toEqual([" a"]);
  expect(signs("a\nb", "")).toEqual(["−a", "−b", "+"]);
});

it("makes both texts again of what it tells", () => {
  const text = (seed: number) =>
    Array.from({ length: 40 }, (_, i) => String((i * seed) % 7)).join("\n");
  for (const [old, now] of [
    [text(3), text(5)],
    [text(2), text(6)],
  ] as const) {
    const all = diffLines(old, now);
    const side = (gone: string) =>
      all.flatMap(({ sign, text: line }) => (sign === gone ? [] : line)).join("\n");
    expect(side("+")).toBe(old);
    expect(side("−")).toBe(now);
  }
});

it("leaves out what is far from any change", () => {
  const old = Array.from({ length: 20 }, (_, i) => `${i}`);
  const now = old.with(10, "x");
  const shown = findHunks(diffLines(old.join("\n"), now.join("\n")));
  expect(shown.map((one) => one && `${one.sign}${one.text}`)).toEqual([
    undefined,
    " 8",
    " 9",
    "−10",
    "+x",
    " 11",
    " 12",
    undefined,
  ]);
});
