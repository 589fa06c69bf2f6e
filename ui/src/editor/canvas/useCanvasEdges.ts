import type { Edge } from "@xyflow/react";
import { useMemo, useRef } from "react";
import type { Problem } from "../model/problems";
import type { CanvasNode } from "./canvasNodes";
import type { CanvasProps } from "./canvasProps";
import { edgesOf, keepUnchangedEdges } from "./edges";
import { compareEdges, hasBothPorts } from "./removedSteps";

const NO_PROBLEMS = new Map<string, Problem[]>();

/** The edges of what is drawn, and of what it is compared with. */
export function useEdges(props: CanvasProps, nodes: CanvasNode[]): Edge[] {
  const { doc, before, catalogue, problems, chosenEdges } = props;
  const known = useRef(new Map<string, Edge>());
  const lines = useMemo(
    () => keepUnchangedEdges(edgesOf(doc, catalogue, problems), known.current),
    [doc, catalogue, problems],
  );
  known.current = useMemo(() => new Map(lines.map((line) => [line.id, line])), [lines]);
  const now = useMemo(() => withChosen(lines, chosenEdges), [lines, chosenEdges]);
  const old = useMemo(() => before && edgesOf(before, catalogue, NO_PROBLEMS), [before, catalogue]);
  // Where a step stands says nothing of its ports.
  const ports = useRef(nodes);
  ports.current = nodes;
  return useMemo(
    () => (old ? compareEdges(now, old, hasBothPorts(ports.current)) : now),
    [now, old],
  );
}

function withChosen(lines: Edge[], chosen: Set<string>): Edge[] {
  if (chosen.size === 0) return lines;
  return lines.map((line) => (chosen.has(line.id) ? { ...line, selected: true } : line));
}
