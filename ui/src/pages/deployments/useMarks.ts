import { useCallback, useMemo, useState } from "react";
import type { Deployment } from "@/api/client";

/** The marked rows that are visible: shortcuts never act on hidden rows. */
export function useMarks(shown: Deployment[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(
    () => (ids.size === 0 ? [] : shown.filter((row) => ids.has(row.id))),
    [ids, shown],
  );
  const toggle = useCallback(
    (id: string) =>
      setIds((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  /** All that are visible, or none once all are. */
  const toggleAll = () =>
    setIds(rows.length === shown.length ? new Set() : new Set(shown.map((one) => one.id)));
  const clear = () => setIds((before) => (before.size === 0 ? before : new Set()));
  /** Only these stay marked. */
  const keep = (left: Deployment[]) =>
    setIds((before) => new Set(left.map((one) => one.id).filter((id) => before.has(id))));
  return { rows, has: (id: string) => ids.has(id), toggle, toggleAll, clear, keep };
}
