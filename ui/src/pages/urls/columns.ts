// The measures of the grid of cards, in px: which cards are in a row has to be known before they are drawn.

export const GAP = 12;
/** What two addresses beside each other need. */
const CARD = 420;

export const PADDING = 16;

/** How many cards stand beside each other. */
export function columnsIn(width: number): number {
  const room = width - 2 * PADDING;
  return Math.max(1, Math.floor((room + GAP) / (CARD + GAP)));
}
