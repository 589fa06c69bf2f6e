import { expect, it } from "vitest";
import type { Catalogue } from "../model/catalogue";
import type { Doc, Step } from "../model/document";
import { moveItems } from "../model/edit";
import { handlesOf, spotOf } from "./canvasNodes";
import { edgesOf } from "./edges";
import { boxesOf } from "./itemBoxes";
import { crosses, pointsOf, routesOf } from "./routes";
import { layoutSteps, shapeOf } from "./stepGeometry";

const catalogue: Catalogue = { services: new Map(), plugins: new Map(), secrets: [] };

/** The same numbers for the same seed. */
function seeded(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

/** A drawing by chance: steps wait for earlier ones and read their hosts and ports. */
function anyDrawing(seed: number): Doc {
  const random = seeded(seed);
  const steps = Array.from({ length: 4 + Math.floor(random() * 12) }, (_, i): Step => {
    const needs = new Set<string>();
    const env: Record<string, string> = {};
    for (let line = 0; line < 3 && i > 0; line++) {
      const from = `s${Math.floor(random() * i)}`;
      if (random() < 0.7) needs.add(from);
      if (needs.has(from) && random() < 0.5) env[`V${line}`] = `\${{ services.${from}.host }}`;
    }
    const ports = random() < 0.5 ? [{ name: "http", port: 80 }] : undefined;
    return { key: `s${i}`, needs: [...needs], service: { name: "web", env, ports } };
  });
  return { steps, comments: [] };
}

/** Each line of a drawing with the steps that it runs behind. */
function hiddenBehind(doc: Doc): string[] {
  const edges = edgesOf(doc, catalogue, new Map()).filter((edge) => !edge.data?.implied);
  const routes = routesOf(doc, catalogue, edges);
  const boxes = boxesOf(doc, catalogue);
  const portOf = (key: string, id?: string | null) => {
    const at = doc.steps.findIndex((step) => step.key === key);
    const step = doc.steps[at] as Step;
    const port = handlesOf(shapeOf(step, catalogue)).find((one) => one.id === id);
    if (!port) throw new Error(`${key} has no port ${id}`);
    const { x, y } = spotOf(step, at);
    return { x: x + port.x + (port.type === "source" ? 12 : 0), y: y + port.y + 6 };
  };
  return edges.flatMap((edge) => {
    const line = {
      from: portOf(edge.source, edge.sourceHandle),
      to: portOf(edge.target, edge.targetHandle),
      square: edge.type === "smoothstep",
    };
    const points = pointsOf(line, routes.get(edge.id));
    const behind = doc.steps.filter(
      (step, at) =>
        step.key !== edge.source &&
        step.key !== edge.target &&
        points.some(
          (point, i) => i > 0 && crosses(points[i - 1] as never, point, boxes[at] as never),
        ),
    );
    return behind.map((step) => `${edge.id} behind ${step.key}`);
  });
}

it("runs no line behind a step once a drawing is tidied", async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const doc = anyDrawing(seed);
    const laid = moveItems(doc, await layoutSteps(doc, catalogue));
    expect(hiddenBehind(laid), `drawing ${seed}`).toEqual([]);
  }
});

it("leads a line around a step that was moved into its way", () => {
  const step = (key: string, x: number, needs: string[] = []): Step => ({
    key,
    needs,
    position: { x, y: 0 },
    service: { name: key },
  });
  const doc: Doc = {
    steps: [step("a", 0), step("between", 260), step("b", 520, ["a"])],
    comments: [],
  };
  expect(hiddenBehind(doc)).toEqual([]);
  const [edge] = edgesOf(doc, catalogue, new Map());
  expect(routesOf(doc, catalogue, edge ? [edge] : []).size).toBe(1);
});
