import { useRef, useState } from "react";
import { type Filters, readFilters } from "./filters";

const KEY = "nullops.views";
const MOST = 12;

export type View = { name: string; filters: Filters };

/** The views a person saved, in the order of saving. Broken storage is no view. */
export function readViews(stored: string | null): View[] {
  try {
    const list: unknown = JSON.parse(stored ?? "[]");
    if (!Array.isArray(list)) return [];
    return list
      .filter((one) => typeof one?.name === "string" && one.name !== "" && one.filters)
      .slice(0, MOST)
      .map((one) => ({ name: one.name.slice(0, 40), filters: readFilters(one.filters) }));
  } catch {
    return [];
  }
}

/** Whether two sets of filters show the same. */
export function sameFilters(a: Filters, b: Filters): boolean {
  return JSON.stringify(readFilters(a)) === JSON.stringify(readFilters(b));
}

/** Saved views, kept in this browser: what is in them is an address, and can be sent as one too. */
export function useViews() {
  const [views, setViews] = useState(() => readViews(local()));
  // A deletion is taken back later, perhaps after others were saved: it adds to what is there by then.
  const now = useRef(views);
  const keep = (change: (before: View[]) => View[]) => {
    const next = change(now.current);
    now.current = next;
    setViews(next);
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // Storage is off: they last until the page is closed.
    }
  };
  return {
    views,
    full: views.length >= MOST,
    save: (name: string, filters: Filters) =>
      keep((before) => [...before.filter((one) => one.name !== name), { name, filters }]),
    drop: (name: string) => keep((before) => before.filter((one) => one.name !== name)),
  };
}

function local(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
