/** A step as the layout sees it: where its edges come from. Steps are given in the order they run. */
export type GraphStep = { key: string; needs: string[] };

export type Point = { x: number; y: number };
export type PlacedStep = { key: string; x: number; y: number; lane: number; row: number };
export type PlacedEdge = { from: string; to: string; points: Point[] };
export type Layout = { steps: PlacedStep[]; edges: PlacedEdge[]; width: number; height: number };

/** Size of a step in the run view; two lanes fit the 588 px panel. */
export const STEP_WIDTH = 250;
export const STEP_HEIGHT = 66;

const GAP_X = 38;
const GAP_Y = 26;
const MARGIN = 16;

/**
 * Places the steps top to bottom in rows and lanes: a row below everything it needs, in the lane of
 * the step it waits for longest. Edges run down the lanes, or between lanes and rows, never through
 * a step. The result depends on keys, order and edges alone, so that a run's graph never moves while
 * it is watched. Edges that follow from others (a→c beside a→b→c) are left out.
 */
export function layoutGraph(steps: GraphStep[]): Layout {
  const edges = reduceEdges(steps);
  const needs = new Map(steps.map((step) => [step.key, [] as string[]]));
  for (const edge of edges) needs.get(edge.to)?.push(edge.from);
  const placed = new Map<string, PlacedStep>();
  /** The lowest row taken in each lane. */
  const lanes: number[] = [];
  for (const { key } of steps) {
    const above = (needs.get(key) ?? []).flatMap((need) => placed.get(need) ?? []);
    const row = Math.max(-1, ...above.map((step) => step.row)) + 1;
    const lane = chooseLane(lanes, row, above);
    lanes[lane] = row;
    placed.set(key, { key, lane, row, x: laneX(lane), y: rowY(row) });
  }
  const rows = Math.max(0, ...lanes.map((row) => row + 1));
  return {
    steps: [...placed.values()],
    edges: route(edges, placed),
    width: lanes.length === 0 ? 0 : laneX(lanes.length) - GAP_X + MARGIN,
    height: rows === 0 ? 0 : rowY(rows) - GAP_Y + MARGIN,
  };
}

function laneX(lane: number): number {
  return MARGIN + lane * (STEP_WIDTH + GAP_X);
}

function rowY(row: number): number {
  return MARGIN + row * (STEP_HEIGHT + GAP_Y);
}

/** Below the latest need if that lane is free there, else the first lane that is. */
function chooseLane(lanes: number[], row: number, above: PlacedStep[]): number {
  const free = (lane: number) => (lanes[lane] ?? -1) < row;
  const latest = [...above].sort((a, b) => b.row - a.row || a.lane - b.lane);
  const same = latest.find((step) => free(step.lane));
  if (same) return same.lane;
  const empty = lanes.findIndex((_, lane) => above.length > 0 && free(lane));
  return empty >= 0 ? empty : lanes.length;
}

/** Straight down to the next step of the lane; otherwise through the gaps between lanes and rows. */
function route(
  edges: { from: string; to: string }[],
  placed: Map<string, PlacedStep>,
): PlacedEdge[] {
  const tracks = new Map<number, number>();
  const taken = new Set([...placed.values()].map((step) => `${step.lane}/${step.row}`));
  return edges.flatMap(({ from, to }) => {
    const [a, b] = [placed.get(from), placed.get(to)];
    if (!a || !b) return [];
    if (a.lane === b.lane && isLaneFree(taken, a, b))
      return { from, to, points: straightEdge(a, b) };
    // The gap beside the target's lane, on the side the edge comes from.
    const gap = a.lane < b.lane ? b.lane - 1 : b.lane;
    const track = tracks.get(gap) ?? 0;
    tracks.set(gap, track + 1);
    return { from, to, points: detourEdge(a, b, gap, track) };
  });
}

function isLaneFree(taken: Set<string>, a: PlacedStep, b: PlacedStep): boolean {
  for (let row = a.row + 1; row < b.row; row++) if (taken.has(`${a.lane}/${row}`)) return false;
  return a.row < b.row;
}

function straightEdge(a: PlacedStep, b: PlacedStep): Point[] {
  const x = a.x + STEP_WIDTH / 2;
  return [
    { x, y: a.y + STEP_HEIGHT },
    { x, y: b.y },
  ];
}

function detourEdge(a: PlacedStep, b: PlacedStep, gap: number, track: number): Point[] {
  const middle = laneX(gap) + STEP_WIDTH + GAP_X / 2;
  // Edges that share a gap lie beside each other.
  const x = middle + ([0, 8, -8, 4, -4][track % 5] ?? 0);
  const side = x > b.x ? 1 : -1;
  const leave = { x: a.x + STEP_WIDTH / 2 + (x > a.x ? 48 : -48), y: a.y + STEP_HEIGHT };
  const enter = { x: b.x + STEP_WIDTH / 2 + side * 48, y: b.y };
  const low = leave.y + 9;
  const high = enter.y - 15;
  return [
    leave,
    { x: leave.x, y: low },
    { x, y: low },
    { x, y: high },
    { x: enter.x, y: high },
    enter,
  ];
}

/** The edges that are needed to tell the order: the transitive reduction. */
export function reduceEdges(steps: GraphStep[]): { from: string; to: string }[] {
  const known = new Map(steps.map((step) => [step.key, step]));
  const reach = new Map<string, Set<string>>();
  const ancestors = (key: string, open: Set<string>): Set<string> => {
    const ready = reach.get(key);
    if (ready) return ready;
    const found = new Set<string>();
    // A cycle cannot be saved; drawn anyway, it must not hang the page.
    if (open.has(key)) return found;
    open.add(key);
    for (const need of known.get(key)?.needs ?? []) {
      found.add(need);
      for (const further of ancestors(need, open)) found.add(further);
    }
    open.delete(key);
    reach.set(key, found);
    return found;
  };
  return steps.flatMap((step) => {
    const needs = [...new Set(step.needs)].filter((need) => known.has(need) && need !== step.key);
    return needs
      .filter(
        (need) => !needs.some((other) => other !== need && ancestors(other, new Set()).has(need)),
      )
      .map((need) => ({ from: need, to: step.key }));
  });
}

/** An SVG path through the points, with its corners rounded by at most `radius`. */
export function edgePath(points: Point[], radius = 7): string {
  const [first, ...others] = points;
  const last = others.pop();
  if (!first || !last) return "";
  let path = `M${first.x} ${first.y}`;
  let before = first;
  others.forEach((at, i) => {
    const into = pointTowards(at, before, radius);
    const out = pointTowards(at, others[i + 1] ?? last, radius);
    path += `L${into.x} ${into.y}Q${at.x} ${at.y} ${out.x} ${out.y}`;
    before = at;
  });
  return `${path}L${last.x} ${last.y}`;
}

function pointTowards(at: Point, other: Point, radius: number): Point {
  const length = Math.hypot(other.x - at.x, other.y - at.y);
  const share = length === 0 ? 0 : Math.min(radius, length / 2) / length;
  return { x: at.x + (other.x - at.x) * share, y: at.y + (other.y - at.y) * share };
}
