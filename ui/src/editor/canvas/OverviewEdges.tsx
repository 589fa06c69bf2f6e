import { type Edge, getBezierPath, getSmoothStepPath, ViewportPortal } from "@xyflow/react";
import { useRef } from "react";
import type { Spot } from "../model/document";
import type { CanvasNode } from "./canvasNodes";
import { routePath } from "./routes";

type Path = { edge: Edge; from: CanvasNode; to: CanvasNode; d: string };
type Props = { nodes: CanvasNode[]; edges: Edge[]; dragged?: Map<string, Spot> };

/** All edges in one path for each look, and one for those that follow the pointer. */
export function OverviewEdges({ nodes, edges, dragged }: Props) {
  const paths = usePaths(nodes, edges);
  const looks = new Map<string, string[]>();
  for (const { edge, d } of paths) {
    const moves = dragged?.has(edge.source) || dragged?.has(edge.target);
    const look = `${edge.className} ${edge.selected ? "selected" : ""} ${moves ? "moves" : ""}`;
    const all = looks.get(look) ?? [];
    looks.set(look, all);
    all.push(d);
  }
  return (
    <ViewportPortal>
      <svg className="fars" width="1" height="1" aria-hidden="true">
        {[...looks].map(([look, all]) => (
          <g key={look} className={`react-flow__edge ${look}`}>
            <path className="react-flow__edge-path" d={all.join("")} />
          </g>
        ))}
      </svg>
    </ViewportPortal>
  );
}

/** The path of each edge; only edges whose ends have moved are computed again. */
function usePaths(nodes: CanvasNode[], edges: Edge[]): Iterable<Path> {
  const known = useRef(new Map<string, Path>());
  const by = new Map(nodes.map((node) => [node.id, node]));
  const next = new Map<string, Path>();
  for (const edge of edges) {
    const [from, to] = [by.get(edge.source), by.get(edge.target)];
    if (!from || !to || edge.hidden) continue;
    const old = known.current.get(edge.id);
    const same = old && old.edge === edge && old.from === from && old.to === to;
    next.set(edge.id, same ? old : { edge, from, to, d: pathOf(edge, from, to) });
  }
  known.current = next;
  return next.values();
}

function pathOf(edge: Edge, from: CanvasNode, to: CanvasNode): string {
  if (edge.data?.points) return routePath(edge.data.points as Spot[]);
  const source = endOf(from, edge.sourceHandle);
  const target = endOf(to, edge.targetHandle);
  if (!source || !target) return "";
  const ends = {
    sourceX: source.x,
    sourceY: source.y,
    sourcePosition: source.position,
    targetX: target.x,
    targetY: target.y,
    targetPosition: target.position,
  };
  return (edge.type === "smoothstep" ? getSmoothStepPath(ends) : getBezierPath(ends))[0];
}

/** Where an edge meets a port: its outer edge, halfway up. */
function endOf({ position, handles }: CanvasNode, id?: string | null) {
  const port = handles?.find((one) => one.id === id);
  if (!port) return undefined;
  const { width = 0, height = 0 } = port;
  return {
    x: position.x + port.x + (port.position === "right" ? width : 0),
    y: position.y + port.y + height / 2,
    position: port.position,
  };
}
