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
  const frames = useRef<Frames>(undefined);
  const drag = useCallback(
    (changes: NodeChange<CanvasNode>[], nodes: CanvasNode[]) => {
      const moves = changes.filter((one) => one.type === "position");
      const told: Spots = new Map(
        moves.flatMap(({ id, position }) => (position ? [[id, position]] : [])),
      );
      const begun = frames.current ?? framesOf(nodes);
      const spots = withFrames(told, begun);
      if (spots.size > 0 && moves.some((one) => one.dragging)) {
        frames.current = begun;
        around.current ??= findAround(spots, nodes);
        const snapped = snap(spots, around.current, REACH / flow.getZoom());
        setGuides(snapped.guides);
        setDragged(snapped.spots);
      } else if (spots.size > 0 || moves.some((one) => one.dragging === false)) {
        around.current = undefined;
        frames.current = undefined;
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

/** Where each frame, and each step in it, was before it was moved. */
type Frames = Map<string, { at: Spot; members: Spots }>;

function framesOf(nodes: CanvasNode[]): Frames {
  const spots = new Map(nodes.map((node) => [node.id, node.position]));
  return new Map(
    nodes.flatMap((node) => {
      if (node.type !== "frame") return [];
      const members = (node.data.comment.steps ?? []).flatMap((key) => {
        const spot = spots.get(key);
        return spot ? [[key, spot] as const] : [];
      });
      return [[node.id, { at: node.position, members: new Map(members) }] as const];
    }),
  );
}

/** What is moved, with the steps of each frame in its place. */
function withFrames(told: Spots, frames: Frames): Spots {
  if (![...told.keys()].some((id) => frames.has(id))) return told;
  const spots: Spots = new Map();
  for (const [id, spot] of told) {
    const frame = frames.get(id);
    if (!frame) spots.set(id, spot);
    else
      for (const [key, at] of frame.members)
        spots.set(key, { x: at.x + spot.x - frame.at.x, y: at.y + spot.y - frame.at.y });
  }
  return spots;
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
    others: nodes.filter((node) => !spots.has(node.id) && node.type !== "frame").map(box),
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
