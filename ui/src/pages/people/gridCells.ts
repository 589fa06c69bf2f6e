/** A cell of the grid, by row and column; -1 is the head of a column or a row. */
export type At = { row: number; column: number };

/** Where a key leads from a cell; nothing when it is no key of the grid. It does not go round the edges. */
export function moveCell(at: At, key: string, whole: boolean, size: At): At | undefined {
  const last = { row: size.row - 1, column: size.column - 1 };
  switch (key) {
    case "ArrowLeft":
      return { ...at, column: Math.max(at.row < 0 ? 0 : -1, at.column - 1) };
    case "ArrowRight":
      return { ...at, column: Math.min(last.column, at.column + 1) };
    case "ArrowUp":
      return { ...at, row: Math.max(at.column < 0 ? 0 : -1, at.row - 1) };
    case "ArrowDown":
      return { ...at, row: Math.min(last.row, at.row + 1) };
    case "Home":
      return { row: whole ? 0 : at.row, column: 0 };
    case "End":
      return { row: whole ? last.row : at.row, column: last.column };
    default:
      return undefined;
  }
}

/** The same cell, or the nearest one when the grid has become smaller. */
export const clampCell = (at: At, size: At): At => ({
  row: Math.max(at.column < 0 ? 0 : -1, Math.min(at.row, size.row - 1)),
  column: Math.max(-1, Math.min(at.column, size.column - 1)),
});
