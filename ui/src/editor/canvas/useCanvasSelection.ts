import type { EdgeChange, NodeChange } from "@xyflow/react";
import { useMemo, useRef } from "react";

type Chosen = { nodes: Set<string>; edges: Set<string> };
type Choose = (nodes: Set<string>, edges: Set<string>) => void;

/**
 * Selects steps or edges, never both. React Flow reports one click in two calls, for edges and for
 * steps, before a render: the second call builds on the result of the first.
 */
export function useCanvasSelection(nodes: Set<string>, edges: Set<string>, onChoose: Choose) {
  const now = useRef<Chosen>({ nodes, edges });
  now.current = { nodes, edges };
  return useMemo(() => {
    const choose = (next: Chosen) => {
      now.current = next;
      onChoose(next.nodes, next.edges);
    };
    return {
      chooseNodes: (changes: NodeChange[]) => {
        const nodes = applyChanges(now.current.nodes, changes);
        if (nodes) choose({ nodes, edges: nodes.size > 0 ? new Set() : now.current.edges });
      },
      chooseEdges: (changes: EdgeChange[]) => {
        const edges = applyChanges(now.current.edges, changes);
        if (edges) choose({ edges, nodes: edges.size > 0 ? new Set() : now.current.nodes });
      },
    };
  }, [onChoose]);
}

/** The selection after these changes; undefined if none of them is a selection change. */
function applyChanges(
  old: Set<string>,
  changes: (NodeChange | EdgeChange)[],
): Set<string> | undefined {
  const next = new Set(old);
  const about = changes.filter((one) => one.type === "select");
  for (const { id, selected } of about) {
    if (selected) next.add(id);
    else next.delete(id);
  }
  return about.length > 0 ? next : undefined;
}
