import { type NodeChange, useReactFlow } from "@xyflow/react";
import { useCallback, useRef, useState } from "react";
import type { Spot } from "../model/document";
import type { CanvasNode } from "./canvasNodes";
import { type Guide, snapBox, WIDTH } from "./stepGeometry";

/** Snap distance between two edges, in screen pixels. */
const REACH = 6;

type Spots = Map<string, Spot>;

/**
 * The dragged steps and the guides they snap to. `onMove` is called with their positions on drop.
 */
export function useDragging(onMove: (spots: Spots) => void) {
  const flow = useReactFlow();
  const [dragged, setDragged] = useState<Spots>();
  const [guides, setGuides] = useState<Guide[]>([]);
  // Computed once per drag, since the other steps do not move meanwhile.
  const around = useRef<Around>(undefined);
  const drag = useCallback(
    (changes: NodeChange<CanvasNode>[], nodes: CanvasNode[]) => {
      const moves = changes.filter((one) => one.type === "position");
      const spots: Spots = new Map(
        moves.flatMap(({ id, position }) => (position ? [[id, position]] : [])),
      );
      if (spots.size > 0 && moves.some((one) => one.dragging)) {
        around.current ??= findAround(spots, nodes);
        const snapped = snap(spots, around.current, REACH / flow.getZoom());
        setGuides(snapped.guides);
        setDragged(snapped.spots);
      } else if (spots.size > 0 || moves.some((one) => one.dragging === false)) {
        around.current = undefined;
        setGuides([]);
        // The last event of a drag has no position; arrow keys move a step without a drag.
        setDragged((now) => {
          const last = now ?? spots;
          if (last.size > 0) queueMicrotask(() => onMove(last));
          return undefined;
        });
      }
    },
    [flow, onMove],
  );
  return { dragged, guides, drag };
}

type Around = ReturnType<typeof findAround>;

/** The boxes of the steps that are not dragged, and of the first one that is. */
function findAround(spots: Spots, nodes: CanvasNode[]) {
  const box = ({ position, width = WIDTH, height = 0 }: CanvasNode) => ({
    ...position,
    width,
    height,
  });
  const main = nodes.find((node) => spots.has(node.id));
  return {
    id: main?.id ?? "",
    main: main && box(main),
    others: nodes.filter((node) => !spots.has(node.id)).map(box),
  };
}

function snap(spots: Spots, at: Around, reach: number) {
  const first = spots.get(at.id);
  if (!first || !at.main) return { spots, guides: [] };
  const { spot, guides } = snapBox({ ...at.main, ...first }, at.others, reach);
  const by = { x: spot.x - first.x, y: spot.y - first.y };
  const moved = new Map([...spots].map(([id, one]) => [id, { x: one.x + by.x, y: one.y + by.y }]));
  return { spots: moved, guides };
}
