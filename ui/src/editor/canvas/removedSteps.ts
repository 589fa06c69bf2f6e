import type { Edge } from "@xyflow/react";
import type { Doc, Step } from "../model/document";
import type { CanvasNode } from "./canvasNodes";

/** What is compared with what is drawn: steps that are no more, in the places where they stood. */
export function findRemovedSteps(before: Doc | undefined, now: Doc): Step[] {
  if (!before) return [];
  const here = new Set(now.steps.map((step) => step.key));
  return before.steps.filter((step) => !here.has(step.key));
}

/**
 * The edges of both drawings: new ones and those that are gone say so, by line and by sign. `meets` says
 * whether an edge of before still has both its ends.
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

/** Whether an edge leads from a port that is drawn to one that is. */
export function hasBothPorts(nodes: CanvasNode[]): (edge: Edge) => boolean {
  const ports = new Map(
    nodes.map((node) => [node.id, new Set((node.handles ?? []).map((port) => port.id))]),
  );
  const has = (node: string, port?: string | null) => Boolean(ports.get(node)?.has(port ?? null));
  return ({ source, sourceHandle, target, targetHandle }) =>
    has(source, sourceHandle) && has(target, targetHandle);
}
