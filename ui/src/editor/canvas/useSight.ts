import { useReactFlow } from "@xyflow/react";
import { useEffect, useRef, useState } from "react";
import type { Doc } from "../model/document";

/** How much of the canvas stays free around what is fitted into it. */
export const FIT = { padding: 0.06, maxZoom: 1 };
/** Below this, text is too small to read. Six steps in a row are this wide at 1024. */
const READABLE = 0.7;
/** Below this, steps are drawn as boxes with their names: then all of them are shown. */
const OVERVIEW = 0.4;
/** How often it is looked whether the drawing was fitted, and at what interval in ms. */
const LOOKS = 8;
const APART = 60;
/** Between a step and the edge of the canvas, in px. */
const MARGIN = 24;

/**
 * What is in sight at first: a step that a link leads to, or the whole drawing; where that would be
 * too small to read, but not yet an overview, its whole width or its beginning.
 */
export function useFirstView(doc: Doc, chosen: Set<string>) {
  const flow = useReactFlow();
  const [linked] = useState(() => {
    const [only] = chosen;
    const found = chosen.size === 1 && doc.steps.some((step) => step.key === only);
    return found && only ? { nodes: [{ id: only }], padding: 0.8, maxZoom: 1 } : undefined;
  });
  const done = useRef(linked !== undefined);
  useEffect(() => {
    if (done.current) return;
    // The library fits the drawing once it knows the size of the canvas: soon, but nobody says when.
    let left = LOOKS;
    const timer = setInterval(() => {
      const zoom = flow.getZoom();
      const small = zoom > OVERVIEW && zoom < READABLE;
      left -= 1;
      if (small || left === 0) clearInterval(timer);
      if (!small) return;
      done.current = true;
      const box = flow.getNodesBounds(flow.getNodes());
      void flow.setViewport({
        x: readableStart(box.width, canvasWidth()) - box.x * READABLE,
        y: MARGIN + 40 - box.y * READABLE,
        zoom: READABLE,
      });
    }, APART);
    return () => clearInterval(timer);
  }, [flow]);
  return linked ?? FIT;
}

function canvasWidth(): number {
  return document.querySelector(".cv")?.getBoundingClientRect().width ?? 0;
}

/** Where a drawing begins on the canvas at the readable scale: in the middle if its width fits. */
export function readableStart(drawing: number, canvas: number): number {
  const spare = canvas - drawing * READABLE;
  return spare >= 0 ? spare / 2 : MARGIN;
}

/** Brings the step that was chosen back into sight when the inspector opens over it. */
export function useKeepInSight(chosen: Set<string>) {
  const flow = useReactFlow();
  const [only] = chosen.size === 1 ? chosen : [];
  useEffect(() => {
    if (only === undefined) return undefined;
    // The canvas has its new width in the next frame.
    const frame = requestAnimationFrame(() => {
      const canvas = document.querySelector(".cv")?.getBoundingClientRect();
      // Not by its element: a step out of sight has none.
      const node = flow.getNode(only);
      if (!canvas || !node) return;
      const { x: left, y: top } = flow.flowToScreenPosition(node.position);
      const scale = flow.getZoom();
      const right = left + (node.width ?? 0) * scale;
      const bottom = top + (node.height ?? 0) * scale;
      const by = {
        x: hiddenBy(left, right, canvas.left, canvas.right),
        y: hiddenBy(top, bottom, canvas.top, canvas.bottom),
      };
      if (by.x === 0 && by.y === 0) return;
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x + by.x, y: y + by.y, zoom });
    });
    return () => cancelAnimationFrame(frame);
  }, [only, flow]);
}

/** How far something has to move to lie within these edges; its beginning comes first. */
export function hiddenBy(start: number, end: number, from: number, to: number): number {
  if (start < from) return from - start + MARGIN;
  if (end > to) return Math.max(to - end - MARGIN, from - start + MARGIN);
  return 0;
}
