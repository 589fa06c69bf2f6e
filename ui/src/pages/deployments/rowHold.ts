import { useCallback, useMemo, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import type { Group } from "./filters";

export type Placed = { row: Deployment; group: Group };

/** Where each row is shown: in which group, and in the order of the entries. */
type Places = Map<string, Group>;

type Asked = {
  /** In the order they would have now. */
  rows: Deployment[];
  groupOf: (row: Deployment) => Group;
  /** The pointer or the focus is in the list. */
  held: boolean;
  /** What the rows were chosen by: other filters show another list, in which nothing was held. */
  view: string;
};

/**
 * The rows in a stable order while the list is held; new ones go last in their group. `moved`
 * counts the rows that are out of order, `settle` sorts them.
 */
export function useRowHold({ rows, groupOf, held, view }: Asked) {
  const places = useRef({ view, of: new Map() as Places });
  const [settled, setSettled] = useState(0);
  const settle = useCallback(() => {
    places.current.of.clear();
    setSettled((count) => count + 1);
  }, []);
  // Scrolling renders the list many times a second with the same rows.
  const now = useMemo(() => {
    if (!held || places.current.view !== view) places.current = { view, of: new Map() };
    return assignPlaces(rows, groupOf, places.current.of);
  }, [rows, groupOf, held, view, settled]);
  return { ...now, settle };
}

/** Assigns each row its position, and stores it in `places`. */
export function assignPlaces(rows: Deployment[], groupOf: Asked["groupOf"], places: Places) {
  const fresh = places.size === 0;
  for (const row of rows) if (!places.has(row.id)) places.set(row.id, groupOf(row));
  if (fresh) return { placed: rows.map((row) => ({ row, group: groupOf(row) })), moved: 0 };
  const by = new Map(rows.map((row) => [row.id, row]));
  const placed = [...places].flatMap<Placed>(([id, group]) => {
    const row = by.get(id);
    return row ? [{ row, group }] : [];
  });
  return { placed, moved: countMoved(placed, rows, groupOf) };
}

/** Those that belong to another group, and the least of the others that would have to move. */
function countMoved(placed: Placed[], rows: Deployment[], groupOf: Asked["groupOf"]): number {
  const wanted = new Map(rows.map((row, at) => [row.id, at]));
  const stay = placed.filter(({ row, group }) => groupOf(row) === group);
  const by = new Map<Group, number[]>();
  for (const { row, group } of stay)
    (by.get(group) ?? by.set(group, []).get(group))?.push(wanted.get(row.id) ?? 0);
  const out = [...by.values()].map(outOfOrder);
  return placed.length - stay.length + out.reduce((sum, count) => sum + count, 0);
}

/** The least number of elements to move so that distinct numbers are sorted. */
export function outOfOrder(numbers: number[]): number {
  // The least end of a rising sequence of each length: its length is that of the longest one.
  const ends: number[] = [];
  for (const one of numbers) {
    let [from, to] = [0, ends.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((ends[middle] as number) < one) from = middle + 1;
      else to = middle;
    }
    ends[from] = one;
  }
  return numbers.length - ends.length;
}
