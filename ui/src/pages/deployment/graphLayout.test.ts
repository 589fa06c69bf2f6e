import { describe, expect, it } from "vitest";
import {
  edgePath,
  type GraphStep,
  type Layout,
  layoutGraph,
  reduceEdges,
  STEP_HEIGHT,
  STEP_WIDTH,
} from "./graphLayout";

const step = (key: string, ...needs: string[]): GraphStep => ({ key, needs });

const shop = [
  step("postgres"),
  step("create-db", "postgres"),
  step("redis"),
  step("mail", "redis"),
  step("schema", "create-db"),
  step("api", "schema", "create-db", "redis", "postgres"),
  step("web", "api"),
  step("check", "web", "api", "mail"),
];

/** Every place where an edge passes through a step that it does not belong to. */
function collisions(layout: Layout): string[] {
  return layout.edges.flatMap(({ from, to, points }) =>
    layout.steps
      .filter((box) => box.key !== from && box.key !== to)
      .filter((box) =>
        points.slice(1).some((point, i) => {
          const before = points[i] ?? point;
          const [left, right] = [Math.min(before.x, point.x), Math.max(before.x, point.x)];
          const [top, bottom] = [Math.min(before.y, point.y), Math.max(before.y, point.y)];
          return (
            right > box.x &&
            left < box.x + STEP_WIDTH &&
            bottom > box.y &&
            top < box.y + STEP_HEIGHT
          );
        }),
      )
      .map((box) => `${from}>${to} through ${box.key}`),
  );
}

/** A seeded graph of `size` steps in an order that fits its edges. */
function random(seed: number, size: number): GraphStep[] {
  let state = seed;
  const next = (below: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % below;
  };
  return Array.from({ length: size }, (_, i) =>
    step(`s${i}`, ...Array.from({ length: i === 0 ? 0 : next(3) }, () => `s${next(i)}`)),
  );
}

describe("the run's graph", () => {
  it("draws no edge that follows from others", () => {
    expect(reduceEdges(shop).map((edge) => `${edge.from}>${edge.to}`)).toEqual([
      "postgres>create-db",
      "redis>mail",
      "create-db>schema",
      "schema>api",
      "redis>api",
      "api>web",
      "web>check",
      "mail>check",
    ]);
  });

  it("leaves out unknown steps and does not hang on a cycle", () => {
    expect(reduceEdges([step("a", "b", "ghost"), step("b", "a")])).toHaveLength(2);
    expect(layoutGraph([step("a", "b"), step("b", "a")]).steps).toHaveLength(2);
  });

  it("keeps a chain in one lane and starts what needs nothing at the top", () => {
    const at = new Map(layoutGraph(shop).steps.map((placed) => [placed.key, placed]));
    for (const key of ["postgres", "create-db", "schema", "api", "web", "check"])
      expect(at.get(key)?.lane).toBe(0);
    expect(at.get("redis")).toMatchObject({ lane: 1, row: 0 });
    expect(at.get("mail")).toMatchObject({ lane: 1, row: 1 });
  });

  it("puts each step below what it needs and draws no edge through a step: 300 seeded graphs", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const layout = layoutGraph(random(seed, 3 + (seed % 25)));
      const at = new Map(layout.steps.map((placed) => [placed.key, placed]));
      for (const edge of layout.edges)
        expect(at.get(edge.from)?.row, `seed ${seed}`).toBeLessThan(at.get(edge.to)?.row ?? 0);
      expect(new Set(layout.steps.map((one) => `${one.lane}/${one.row}`)).size).toBe(
        layout.steps.length,
      );
      expect(collisions(layout), `seed ${seed}`).toEqual([]);
    }
  });

  it("is the same every time", () => expect(layoutGraph(shop)).toEqual(layoutGraph(shop)));

  it("lays out nothing without complaint", () =>
    expect(layoutGraph([])).toEqual({ steps: [], edges: [], width: 0, height: 0 }));

  it("draws straight lines straight and corners round", () => {
    expect(
      edgePath([
        { x: 5, y: 0 },
        { x: 5, y: 20 },
      ]),
    ).toBe("M5 0L5 20");
    expect(
      edgePath([
        { x: 0, y: 0 },
        { x: 0, y: 40 },
        { x: 40, y: 40 },
      ]),
    ).toBe("M0 0L0 33Q0 40 7 40L40 40");
  });
});
