import type { Deployment } from "@/api/client";
import { type Group, groups } from "./filters";

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
  const by = new Map<Group, Deployment[]>(groups.map((group) => [group, []]));
  for (const { row, group } of placed) by.get(group)?.push(row);
  return [...by].flatMap<Line>(([head, rows]) =>
    rows.length === 0
      ? []
      : [{ head, count: rows.length }, ...(closed[head] ? [] : rows.map((row) => ({ row })))],
  );
}
