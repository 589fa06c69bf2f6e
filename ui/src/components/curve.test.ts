import { describe, expect, it } from "vitest";
import { buildCurve, findGaps, svgPath, usualStep } from "./curve";

const at = (second: number) => ({ at: new Date(second * 1000).toISOString(), cpu: second });

describe("a curve", () => {
  it("knows how far apart its points usually are", () => {
    expect(usualStep([0, 5, 10, 15, 100])).toBe(5);
    expect(usualStep([7])).toBe(60);
  });

  it("is broken where something is missing, and nowhere else", () => {
    const found = buildCurve([at(100), at(105), at(110), at(200), at(205)], (point) => point.cpu);
    expect(found.times).toEqual([100, 105, 110, 155, 200, 205]);
    expect(found.values).toEqual([100, 105, 110, null, 200, 205]);
  });

  it("names the stretches of which nothing is known", () => {
    expect(findGaps([100, 105, 110, 200, 205], 50, 207)).toEqual([
      [50, 100],
      [110, 200],
    ]);
    expect(findGaps([], 0, 3600)).toEqual([[0, 3600]]);
  });

  it("is whole where a node came to rest", () => {
    const times = [100, 105, 110, 125, 155, 185, 190];
    expect(findGaps(times, 100, 195)).toEqual([]);
    expect(buildCurve(times.map(at), (point) => point.cpu).values).not.toContain(null);
  });

  it("is drawn inside its box", () => {
    expect(svgPath([0, 2, null, 1], 2, 30, 10)).toBe("M0.0 10.0L10.0 0.0M30.0 5.0");
    expect(svgPath([5], 0, 30, 10)).toBe("M0.0 10.0");
  });
});
