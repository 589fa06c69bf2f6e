import type { Spot } from "./document";

export type Box = Spot & { width: number; height: number };

/** The least distance between two items on the canvas. */
export const GAP = 16;

/** Whether two boxes are nearer to each other than the least distance. */
export function overlaps(a: Box, b: Box): boolean {
  return (
    a.x < b.x + b.width + GAP &&
    b.x < a.x + a.width + GAP &&
    a.y < b.y + b.height + GAP &&
    b.y < a.y + a.height + GAP
  );
}

/**
 * How far boxes have to move together so that none of them lies on one of the others: not at all
 * where they are free, else to the nearest free place, right and below first.
 */
export function offsetToFreeSpot(boxes: Box[], others: Box[]): Spot {
  const [first] = boxes;
  if (!first || isFree(boxes, others, { x: 0, y: 0 })) return { x: 0, y: 0 };
  let best: Spot | undefined;
  const shape = boxes.length > 4 ? [boundingBox(boxes)] : boxes;
  for (const offset of candidates(shape, others)) {
    if (best && distance(offset) >= distance(best)) continue;
    if (isFree(boxes, others, offset)) best = offset;
  }
  return best ?? below(boxes, others);
}

/** The box around all of these. */
export function boundingBox(boxes: Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Offsets at which a box just touches one of the others, along each axis and around corners. */
function* candidates(boxes: Box[], others: Box[]): Generator<Spot> {
  const xs = new Set([0]);
  const ys = new Set([0]);
  // With many items, those near the first box are enough; below all of them there is always room.
  const near = nearest(boxes[0] as Box, others);
  for (const box of boxes)
    for (const other of near) {
      xs.add(other.x + other.width + GAP - box.x);
      xs.add(other.x - GAP - box.width - box.x);
      ys.add(other.y + other.height + GAP - box.y);
      ys.add(other.y - GAP - box.height - box.y);
    }
  for (const x of xs) for (const y of ys) yield { x, y };
}

const NEAREST = 12;

function nearest(box: Box, others: Box[]): Box[] {
  const away = (one: Box) => Math.hypot(one.x - box.x, one.y - box.y);
  return [...others].sort((a, b) => away(a) - away(b)).slice(0, NEAREST);
}

/** Up and to the left count twice: drawings grow to the right and down. */
function distance({ x, y }: Spot): number {
  return Math.hypot(x < 0 ? 2 * x : x, y < 0 ? 2 * y : y);
}

function isFree(boxes: Box[], others: Box[], { x, y }: Spot): boolean {
  return boxes.every((box) =>
    others.every((other) => !overlaps({ ...box, x: box.x + x, y: box.y + y }, other)),
  );
}

function below(boxes: Box[], others: Box[]): Spot {
  const top = Math.min(...boxes.map((box) => box.y));
  return { x: 0, y: Math.max(...others.map((one) => one.y + one.height)) + GAP - top };
}
