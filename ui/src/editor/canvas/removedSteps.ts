import type { Edge } from "@xyflow/react";
import type { Doc, Step } from "../model/document";
import type { CanvasNode } from "./canvasNodes";

/** The steps of the compared version that no longer exist, at their old positions. */
export function findRemovedSteps(before: Doc | undefined, now: Doc): Step[] {
  if (!before) return [];
  const here = new Set(now.steps.map((step) => step.key));
  return before.steps.filter((step) => !here.has(step.key));
}

/**
 * The edges of both versions, with added and removed ones marked by line style and badge. `meets`
 * tells whether both ends of an old edge are still shown.
 */
export function compareEdges(now: Edge[], before: Edge[], meets: (edge: Edge) => boolean): Edge[] {
  const [here, there] = [now, before].map((all) => new Set(all.map((edge) => edge.id)));
  const drawn = now.map((edge) =>
    there?.has(edge.id) ? edge : { ...edge, className: `${edge.className} new`, label: "+" },
  );
  const gone = before
    .filter((edge) => !here?.has(edge.id) && meets(edge))
    .map((edge) => ({
      ...edge,
      className: `${edge.className} gone`,
      label: "−",
      selected: false,
      selectable: false,
      focusable: false,
    }));
  return [...drawn, ...gone];
}

/** Whether both ports of an edge are shown. */
export function hasBothPorts(nodes: CanvasNode[]): (edge: Edge) => boolean {
  const ports = new Map(
    nodes.map((node) => [node.id, new Set((node.handles ?? []).map((port) => port.id))]),
  );
  const has = (node: string, port?: string | null) => Boolean(ports.get(node)?.has(port ?? null));
  return ({ source, sourceHandle, target, targetHandle }) =>
    has(source, sourceHandle) && has(target, targetHandle);
}
