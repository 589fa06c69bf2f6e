import type { Edge } from "@xyflow/react";
import { useMemo, useRef } from "react";
import type { Spot } from "../model/document";
import type { Problem } from "../model/problems";
import type { CanvasNode } from "./canvasNodes";
import type { CanvasProps } from "./canvasProps";
import { edgesOf, keepUnchangedEdges } from "./edges";
import { compareEdges, hasBothPorts } from "./removedSteps";
import { routesOf } from "./routes";

const NO_PROBLEMS = new Map<string, Problem[]>();
const NO_ROUTES = new Map<string, Spot[]>();

/** The edges of what is drawn, and of what it is compared with. */
export function useEdges(
  props: CanvasProps,
  nodes: CanvasNode[],
  dragged?: Map<string, Spot>,
): Edge[] {
  const { doc, before, catalogue, problems } = props;
  const known = useRef(new Map<string, Edge>());
  const lines = useMemo(
    () => keepUnchangedEdges(edgesOf(doc, catalogue, problems), known.current),
    [doc, catalogue, problems],
  );
  known.current = useMemo(() => new Map(lines.map((line) => [line.id, line])), [lines]);
  const now = useLooks(props, lines, dragged);
  const old = useMemo(() => before && edgesOf(before, catalogue, NO_PROBLEMS), [before, catalogue]);
  // Where a step stands says nothing of its ports.
  const ports = useRef(nodes);
  ports.current = nodes;
  return useMemo(
    () => (old ? compareEdges(now, old, hasBothPorts(ports.current)) : now),
    [now, old],
  );
}

type Look = { selected: boolean; hidden: boolean; points?: Spot[] };

/** How each line is drawn now: chosen, hidden because it is implied, and around which steps. */
function useLooks(
  { doc, catalogue, chosen, chosenEdges }: CanvasProps,
  lines: Edge[],
  dragged?: Map<string, Spot>,
): Edge[] {
  const routes = useRoutes(doc, catalogue, lines);
  const known = useRef(new WeakMap<Edge, { look: Look; edge: Edge }>());
  const moving = useMovingSteps(dragged);
  return useMemo(
    () =>
      lines.map((line) => {
        const selected = chosenEdges.has(line.id);
        const near = selected || chosen.has(line.source) || chosen.has(line.target);
        const moves = moving.has(line.source) || moving.has(line.target);
        const look: Look = {
          selected,
          hidden: line.data?.implied === true && !near,
          points: moves ? undefined : routes.get(line.id),
        };
        const old = known.current.get(line);
        if (old && isSameLook(old.look, look)) return old.edge;
        const edge = drawEdge(line, look);
        known.current.set(line, { look, edge });
        return edge;
      }),
    [lines, routes, chosen, chosenEdges, moving],
  );
}

const NONE = new Set<string>();

/** The dragged steps: the same set for as long as the same are dragged. */
function useMovingSteps(dragged?: Map<string, Spot>): Set<string> {
  const known = useRef(NONE);
  const same = dragged
    ? dragged.size === known.current.size &&
      [...dragged.keys()].every((id) => known.current.has(id))
    : known.current.size === 0;
  if (!same) known.current = dragged ? new Set(dragged.keys()) : NONE;
  return known.current;
}

function isSameLook(a: Look, b: Look): boolean {
  return a.selected === b.selected && a.hidden === b.hidden && a.points === b.points;
}

function drawEdge(line: Edge, { selected, hidden, points }: Look): Edge {
  if (!selected && !hidden && !points) return line;
  const routed = points ? { type: "routed", data: { ...line.data, points } } : {};
  return { ...line, ...routed, selected, hidden };
}

/** The ways around steps; found anew only when a line, or the place of a step, is another. */
function useRoutes(
  doc: CanvasProps["doc"],
  catalogue: CanvasProps["catalogue"],
  lines: Edge[],
): Map<string, Spot[]> {
  const known = useRef({ key: "", routes: NO_ROUTES });
  return useMemo(() => {
    const key = [
      ...doc.steps.map(({ key, position: at }) => `${key} ${at?.x} ${at?.y}`),
      ...lines.map(({ id, sourceHandle, targetHandle }) => `${id} ${sourceHandle} ${targetHandle}`),
    ].join("\n");
    if (key !== known.current.key)
      known.current = {
        key,
        routes: keepSame(routesOf(doc, catalogue, lines), known.current.routes),
      };
    return known.current.routes;
  }, [doc, catalogue, lines]);
}

/** Ways that are as before stay the same objects, so that their lines are not drawn again. */
function keepSame(routes: Map<string, Spot[]>, before: Map<string, Spot[]>): Map<string, Spot[]> {
  for (const [id, points] of routes) {
    const old = before.get(id);
    if (old && JSON.stringify(old) === JSON.stringify(points)) routes.set(id, old);
  }
  return routes;
}
