/** Ways of lines around steps, so that none runs behind one. */
import type { Edge } from "@xyflow/react";
import type { Catalogue } from "../model/catalogue";
import type { Doc, Spot } from "../model/document";
import { type Box, overlaps } from "../model/freeSpot";
import { handlesOf, spotOf } from "./canvasNodes";
import { shapeOf, WIDTH } from "./stepGeometry";

/** How far a line keeps from a step that it passes, and the choices it has for that. */
const LANES = [9, 14, 19];
/** How far from its ends a line turns. */
const TURNS = [18, 30, 10];
/** How much longer a way may be that does not lie on another line's. */
const CROWDED = 24;
/** Into how many pieces a curve is cut to see what it touches. */
const PIECES = 24;
const CORNER = 6;

type Line = { from: Spot; to: Spot; square: boolean };
type Lane = { y: number; left: number; right: number; source: string };

/**
 * The corners of each line that would run behind a step, by its id. All other lines are drawn as
 * they are: straight to their end.
 */
export function routesOf(doc: Doc, catalogue: Catalogue, edges: Edge[]): Map<string, Spot[]> {
  const places = new Map(doc.steps.map((step, at) => [step.key, placeOf(step, at, catalogue)]));
  const boxes = [...places.values()].map((place) => place.box);
  const lanes: Lane[] = [];
  const routes = new Map<string, Spot[]>();
  for (const edge of edges) {
    const [source, target] = [places.get(edge.source), places.get(edge.target)];
    const from = source?.ports.get(edge.sourceHandle ?? "");
    const to = target?.ports.get(edge.targetHandle ?? "");
    if (!source || !target || !from || !to) continue;
    const line = { from, to, square: edge.type === "smoothstep" };
    const others = boxes.filter((box) => box !== source.box && box !== target.box);
    if (isClear(line, others)) continue;
    const route = routeAround(line, boxes, lanes, `${edge.source} ${edge.sourceHandle}`);
    if (route) routes.set(edge.id, route);
  }
  return routes;
}

function placeOf(step: Doc["steps"][number], at: number, catalogue: Catalogue) {
  const shape = shapeOf(step, catalogue);
  const { x, y } = spotOf(step, at);
  const ports = handlesOf(shape).map((port) => {
    const end = port.type === "source" ? port.width : 0;
    return [port.id, { x: x + port.x + end, y: y + port.y + port.height / 2 }] as const;
  });
  return { box: { x, y, width: WIDTH, height: shape.height }, ports: new Map(ports) };
}

/** Whether a line that goes straight to its end touches none of these steps. */
function isClear(line: Line, boxes: Box[]): boolean {
  const points = straightPoints(line);
  const reach = surround(points);
  const near = boxes.filter((box) => touches(box, reach));
  return (
    near.length === 0 ||
    !points.some(
      (point, i) => i > 0 && near.some((box) => crosses(points[i - 1] as Spot, point, box)),
    )
  );
}

/** Points of the line as it is drawn by itself: square, or a curve. */
function straightPoints({ from, to, square }: Line): Spot[] {
  if (to.x < from.x) return [from, { x: from.x + 20, y: from.y }, { x: to.x - 20, y: to.y }, to];
  if (square) {
    const x = (from.x + to.x) / 2;
    return [from, { x, y: from.y }, { x, y: to.y }, to];
  }
  const half = (to.x - from.x) / 2;
  return Array.from({ length: PIECES + 1 }, (_, i) => {
    const t = i / PIECES;
    const s = 1 - t;
    const weights = [s ** 3, 3 * s * s * t, 3 * s * t * t, t ** 3] as const;
    const mix = (a: number, b: number, c: number, d: number) =>
      weights[0] * a + weights[1] * b + weights[2] * c + weights[3] * d;
    return {
      x: mix(from.x, from.x + half, to.x - half, to.x),
      y: mix(from.y, from.y, to.y, to.y),
    };
  });
}

/** Out of one step, along a free lane, and into the other; undefined where there is no free lane. */
function routeAround({ from, to }: Line, boxes: Box[], lanes: Lane[], source: string) {
  let best: { points: Spot[]; cost: number; lane: Lane } | undefined;
  for (const out of TURNS)
    for (const into of TURNS) {
      const [start, end] = [from.x + out, to.x - into];
      const [left, right] = [Math.min(start, end), Math.max(start, end)];
      for (const y of levels(from, to, left, right, boxes)) {
        const crowd = lanes.some(
          (lane) => lane.source !== source && isBeside(lane, y, left, right),
        );
        const cost =
          Math.abs(from.y - y) + Math.abs(to.y - y) + (crowd ? CROWDED : 0) + (out + into) / 9;
        if (best && cost >= best.cost) continue;
        const points = [
          from,
          { x: start, y: from.y },
          { x: start, y },
          { x: end, y },
          { x: end, y: to.y },
          to,
        ];
        if (isFree(points, boxes)) best = { points, cost, lane: { y, left, right, source } };
      }
      // The usual turns have found a way: the others only look worse.
      if (best) break;
    }
  if (!best) return undefined;
  lanes.push(best.lane);
  return best.points;
}

/** The heights at which a line could pass: at that of its ends, and along the steps in its way. */
function levels(from: Spot, to: Spot, left: number, right: number, boxes: Box[]): number[] {
  const passed = boxes.filter((box) => box.x <= right && box.x + box.width >= left);
  const beside = passed.flatMap((box) =>
    LANES.flatMap((by) => [box.y - by, box.y + box.height + by]),
  );
  return [from.y, to.y, ...beside];
}

function isBeside(lane: Lane, y: number, left: number, right: number): boolean {
  return Math.abs(lane.y - y) < 4 && lane.left < right && left < lane.right;
}

/** Whether a way touches no step at all; it leaves and enters its own at their edges. */
function isFree(points: Spot[], boxes: Box[]): boolean {
  return points.every(
    (point, i) => i === 0 || !boxes.some((box) => crosses(points[i - 1] as Spot, point, box)),
  );
}

/** Whether a piece of a line runs over a box; its edge, where the ports are, does not count. */
export function crosses(a: Spot, b: Spot, { x, y, width, height }: Box): boolean {
  const inset = 7;
  const [left, right] = [x + inset, x + width - inset];
  const [top, bottom] = [y + 1, y + height - 1];
  // Clipped to the box, is anything left of it?
  let [first, last] = [0, 1];
  for (const [at, way, low, high] of [
    [a.x, b.x - a.x, left, right],
    [a.y, b.y - a.y, top, bottom],
  ] as const) {
    if (way === 0) {
      if (at <= low || at >= high) return false;
      continue;
    }
    const [near, far] = [(low - at) / way, (high - at) / way];
    first = Math.max(first, Math.min(near, far));
    last = Math.min(last, Math.max(near, far));
    if (first >= last) return false;
  }
  return true;
}

function surround(points: Spot[]): Box {
  const x = Math.min(...points.map((point) => point.x));
  const y = Math.min(...points.map((point) => point.y));
  const width = Math.max(...points.map((point) => point.x)) - x;
  const height = Math.max(...points.map((point) => point.y)) - y;
  return { x, y, width, height };
}

const touches = overlaps;

/** The points of a line as it is drawn, for whoever asks what it touches. */
export function pointsOf(line: Line, route: Spot[] | undefined): Spot[] {
  return route ?? straightPoints(line);
}

/** The way as a path with round corners. */
export function routePath(points: Spot[]): string {
  const corners = points.filter((point, i) => i === 0 || !isSame(point, points[i - 1] as Spot));
  return corners
    .map((point, i) => {
      const [before, after] = [corners[i - 1], corners[i + 1]];
      if (!before) return `M${point.x} ${point.y}`;
      if (!after) return `L${point.x} ${point.y}`;
      const [a, b] = [towards(point, before), towards(point, after)];
      return `L${a.x} ${a.y}Q${point.x} ${point.y} ${b.x} ${b.y}`;
    })
    .join("");
}

/** The point on the way to a neighbour where a corner begins to be round. */
function towards(point: Spot, next: Spot): Spot {
  const [x, y] = [next.x - point.x, next.y - point.y];
  const length = Math.hypot(x, y);
  const by = Math.min(CORNER, length / 2) / length;
  return { x: point.x + x * by, y: point.y + y * by };
}

function isSame(a: Spot, b: Spot): boolean {
  return a.x === b.x && a.y === b.y;
}
