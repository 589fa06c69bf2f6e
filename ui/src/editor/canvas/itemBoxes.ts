/** Where the items of a drawing are, and how large: what new ones must not cover. */
import type { Catalogue } from "../model/catalogue";
import type { Comment, Doc, Spot, Step } from "../model/document";
import { type Box, offsetToFreeSpot } from "../model/freeSpot";
import { isGroup } from "../model/groups";
import { COMMENT_WIDTH, commentHeight, spotOf } from "./canvasNodes";
import { COLUMN_GAP, shapeOf, WIDTH } from "./stepGeometry";

export function sizeOf(item: Step | Comment, catalogue: Catalogue) {
  return "key" in item
    ? { width: WIDTH, height: shapeOf(item, catalogue).height }
    : { width: COMMENT_WIDTH, height: commentHeight(item) };
}

export function boxesOf(doc: Doc, catalogue: Catalogue): Box[] {
  const comments = doc.comments.filter((comment) => !isGroup(comment));
  return [doc.steps, comments].flatMap((items) =>
    items.map((item, at) => ({ ...spotOf(item, at), ...sizeOf(item, catalogue) })),
  );
}

/** The place of a new item whose middle somebody wants here: there, or the nearest that is free. */
export function placeNew(item: Step | Comment, middle: Spot, doc: Doc, catalogue: Catalogue): Spot {
  const size = sizeOf(item, catalogue);
  const x = Math.round(middle.x - size.width / 2);
  const y = Math.round(middle.y - size.height / 2);
  const by = offsetToFreeSpot([{ x, y, ...size }], boxesOf(doc, catalogue));
  return { x: x + by.x, y: y + by.y };
}

/** The place of a step that follows another one: right of it, or the nearest that is free. */
export function placeAfter(item: Step, before: string, doc: Doc, catalogue: Catalogue): Spot {
  const index = doc.steps.findIndex((step) => step.key === before);
  const step = doc.steps[index];
  if (!step) return placeNew(item, { x: 0, y: 0 }, doc, catalogue);
  const at = spotOf(step, index);
  const box = { x: at.x + WIDTH + COLUMN_GAP, y: at.y, ...sizeOf(item, catalogue) };
  const by = offsetToFreeSpot([box], boxesOf(doc, catalogue));
  return { x: box.x + by.x, y: box.y + by.y };
}
