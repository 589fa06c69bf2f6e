import type { Deployment } from "@/api/client";
import { compareGroups } from "./arrange";
import type { Group } from "./filters";

/** One line of the list: the head of a group, or a row of it. */
export type Line = { head: Group; count: number } | { row: Deployment };

export function keyOf(line: Line): string {
  return "row" in line ? line.row.id : line.head;
}

export function rowsOf(lines: Line[]): Deployment[] {
  return lines.flatMap((line) => ("row" in line ? [line.row] : []));
}

/** The groups one after the other, each under its head; a closed one is its head alone. */
export function linesOf(
  placed: { row: Deployment; group: Group }[],
  closed: Partial<Record<Group, boolean>>,
) {
  const by = new Map<Group, Deployment[]>();
  for (const { row, group } of placed) {
    const rows = by.get(group);
    if (rows) rows.push(row);
    else by.set(group, [row]);
  }
  return [...by]
    .sort(([a], [b]) => compareGroups(a, b))
    .flatMap<Line>(([head, rows]) => [
      { head, count: rows.length },
      ...(closed[head] ? [] : rows.map((row) => ({ row }))),
    ]);
}
