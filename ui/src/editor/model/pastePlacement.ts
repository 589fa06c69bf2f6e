import type { Doc, Spot } from "./document";

export type Box = { x: number; y: number; width: number; height: number };
type Placed = { position?: Spot };

/** Grid spacing for copies without a position, so that they do not overlap. */
const GRID = { columns: 4, x: 240, y: 180 };

/** Offset added until copies do not cover existing steps. */
const STEP = 32;

/**
 * Positions copies next to their originals, further away each time so that none covers an earlier
 * copy; in the middle of the view if they would be out of sight. Copies without a position go in a
 * grid below the others.
 */
export function placeCopies<T extends Placed>(copies: T[], doc: Doc, by: Spot, sight?: Box): T[] {
  const laid = layInGrid(copies);
  const taken = new Set([...doc.steps, ...doc.comments].map((one) => spotText(one.position)));
  const lies = (items: Placed[]) => items.some((one) => taken.has(spotText(one.position)));
  const hidden = sight && !laid.some((one) => isIn(sight, shiftItem(one, by).position));
  let at = hidden ? toMiddle(laid, sight) : by;
  while (lies(laid.map((one) => shiftItem(one, at)))) at = { x: at.x + STEP, y: at.y + STEP };
  return laid.map((one) => shiftItem(one, at));
}

function layInGrid<T extends Placed>(copies: T[]): (T & { position: Spot })[] {
  const placed = copies.flatMap((one) => one.position ?? []);
  const left = placed.length > 0 ? Math.min(...placed.map((one) => one.x)) : 0;
  const top = placed.length > 0 ? Math.max(...placed.map((one) => one.y)) + GRID.y : 0;
  let i = 0;
  const next = () => ({
    x: left + (i % GRID.columns) * GRID.x,
    y: top + Math.floor(i++ / GRID.columns) * GRID.y,
  });
  return copies.map((one) => ({ ...one, position: one.position ?? next() }));
}

/** The offset that moves the items to the middle of the view. */
function toMiddle(items: { position: Spot }[], { x, y, width, height }: Box): Spot {
  const middle = (of: (spot: Spot) => number) => {
    const all = items.map((one) => of(one.position));
    return (Math.min(...all) + Math.max(...all)) / 2;
  };
  return {
    x: Math.round(x + width / 2 - middle((spot) => spot.x)),
    y: Math.round(y + height / 2 - middle((spot) => spot.y)),
  };
}

function isIn({ x, y, width, height }: Box, spot: Spot): boolean {
  return spot.x >= x && spot.x <= x + width && spot.y >= y && spot.y <= y + height;
}

function shiftItem<T extends { position: Spot }>(item: T, by: Spot): T {
  return { ...item, position: { x: item.position.x + by.x, y: item.position.y + by.y } };
}

function spotText(spot: Spot | undefined): string {
  return spot ? `${spot.x} ${spot.y}` : "";
}
