import type { Doc, Spot } from "./document";
import { type Box, boundingBox, offsetToFreeSpot } from "./freeSpot";
import { isGroup } from "./groups";

type Placed = { position?: Spot };
type Size = { width: number; height: number };

/** Where copies go, and what they must not cover. */
export type Landing = {
  /** The way from the originals. */
  by: Spot;
  /** The place of their middle, where somebody pointed at one. */
  at?: Spot;
  /** What of the canvas is in sight. */
  sight?: Box;
  /** How large an item is drawn. */
  sizeOf?: (item: Placed) => Size;
};

/** Grid spacing for copies without a position, so that they do not overlap. */
const GRID = { columns: 4, x: 240, y: 180 };

/** About the size of a step. */
const USUAL: Size = { width: 184, height: 90 };

/**
 * Positions copies where somebody points, or next to their originals, or in the middle of the view
 * if they would be out of sight; and from there on so far that none lies on anything. Copies without
 * a position go in a grid below the others.
 */
export function placeCopies<T extends Placed>(copies: T[], doc: Doc, landing: Landing): T[] {
  const { by, at, sight, sizeOf = () => USUAL } = landing;
  const laid = layInGrid(copies);
  const box = (one: T & { position: Spot }, way: Spot) => ({
    x: one.position.x + way.x,
    y: one.position.y + way.y,
    ...sizeOf(one),
  });
  const hidden = sight && !laid.some((one) => isIn(sight, shiftItem(one, by).position));
  const middle = at ?? (hidden ? middleOf(sight) : undefined);
  const way = middle ? wayTo(boundingBox(laid.map((one) => box(one, ZERO))), middle) : by;
  const taken = [...doc.steps, ...doc.comments.filter((one) => !isGroup(one))].flatMap((one) =>
    one.position ? { ...one.position, ...sizeOf(one) } : [],
  );
  const free = offsetToFreeSpot(
    laid.map((one) => box(one, way)),
    taken,
  );
  return laid.map((one) => shiftItem(one, { x: way.x + free.x, y: way.y + free.y }));
}

const ZERO: Spot = { x: 0, y: 0 };

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

function middleOf({ x, y, width, height }: Box): Spot {
  return { x: x + width / 2, y: y + height / 2 };
}

/** The way that brings a box's middle to a place. */
function wayTo(box: Box, place: Spot): Spot {
  const middle = middleOf(box);
  return { x: Math.round(place.x - middle.x), y: Math.round(place.y - middle.y) };
}

function isIn({ x, y, width, height }: Box, spot: Spot): boolean {
  return spot.x >= x && spot.x <= x + width && spot.y >= y && spot.y <= y + height;
}

function shiftItem<T extends { position: Spot }>(item: T, by: Spot): T {
  return { ...item, position: { x: item.position.x + by.x, y: item.position.y + by.y } };
}
