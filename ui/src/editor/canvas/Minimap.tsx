import { Panel, useReactFlow, useStore } from "@xyflow/react";
import { type PointerEvent, useState } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Spot } from "../model/document";
import type { Box } from "../model/freeSpot";
import type { CanvasNode } from "./canvasNodes";

/** Of the map, in px. */
const SIZE = { width: 200, height: 150 };

type Props = {
  nodes: CanvasNode[];
  dragged?: Map<string, Spot>;
  bad: (key: string) => boolean;
};

/**
 * Where everything is, and what is in sight of it; pressing it goes there. The library's own map
 * draws and watches each step by itself, which cost as much as all the rest while one is dragged.
 */
export function Minimap({ nodes, dragged, bad }: Props) {
  const flow = useReactFlow();
  const sight = useSight();
  // While it is held the map stands still, though what is in sight moves.
  const [held, setHeld] = useState<Box>();
  const all = held ?? boundingBox([...nodes.map(boxOf), sight]);
  const looks = looksOf({ nodes, dragged, bad });
  const go = (event: PointerEvent<SVGSVGElement>, map: Box) => {
    const at = event.currentTarget.getBoundingClientRect();
    const x = map.x + ((event.clientX - at.x) / at.width) * map.width;
    const y = map.y + ((event.clientY - at.y) / at.height) * map.height;
    void flow.setCenter(x, y, { zoom: flow.getZoom() });
  };
  return (
    <Panel position="bottom-right" className="mini">
      <svg
        {...SIZE}
        viewBox={`${all.x} ${all.y} ${all.width} ${all.height}`}
        role="img"
        aria-label={editorTexts.minimap}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setHeld(all);
          go(event, all);
        }}
        onPointerMove={(event) => held && go(event, held)}
        onLostPointerCapture={() => setHeld(undefined)}
        onWheel={(event) => void (event.deltaY < 0 ? flow.zoomIn() : flow.zoomOut())}
      >
        {[...looks].map(([look, all]) => (
          <path key={look} className={look} d={all.join("")} />
        ))}
        <path className="out" fillRule="evenodd" d={rect(all) + rect(sight)} />
        <path className="sight" d={rect(sight)} />
      </svg>
    </Panel>
  );
}

/** What of the canvas is in sight. */
function useSight(): Box {
  const [x, y, zoom] = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  return { x: -x / zoom, y: -y / zoom, width: width / zoom, height: height / zoom };
}

function boxOf({ position, width = 0, height = 0 }: CanvasNode): Box {
  return { ...position, width, height };
}

/** A box around all of these, with a margin, in the proportions of the map. */
function boundingBox(boxes: Box[]): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of boxes) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
  }
  const scale = 1.08 * Math.max((right - left) / SIZE.width, (bottom - top) / SIZE.height);
  const [width, height] = [SIZE.width * scale, SIZE.height * scale];
  return { x: (left + right - width) / 2, y: (top + bottom - height) / 2, width, height };
}

/**
 * The rectangles by style. Dragged steps are separate, so that the others are not rendered again.
 */
function looksOf({ nodes, dragged, bad }: Props): Map<string, string[]> {
  const looks = new Map<string, string[]>();
  for (const node of nodes) {
    if (node.type === "frame") continue;
    const kind = node.type === "comment" ? "note" : bad(node.id) ? "bad" : "step";
    const look = dragged?.has(node.id) ? `${kind} moves` : kind;
    const all = looks.get(look) ?? [];
    looks.set(look, all);
    all.push(rect(boxOf(node)));
  }
  return looks;
}

function rect({ x, y, width, height }: Box): string {
  return `M${x} ${y}h${width}v${height}h${-width}Z`;
}
