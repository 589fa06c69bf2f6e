import { useMemo, useSyncExternalStore } from "react";
import { type Filters, readFilters } from "./filters";

/** So many tabs are found at a glance. */
export const MOST = 12;

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

/** Views are a person's own, also where several share a browser. */
const keyOf = (user: string) => `nullops.views.${user}`;

/** What could not be stored lasts until the page is closed. */
const unstored = new Map<string, string>();

/**
 * Saved views, kept in this browser: what is in them is an address, and can be sent as one too. Other
 * tabs change them as well, so that each change is one of what is kept by then.
 */
export function useViews(user: string) {
  const key = keyOf(user);
  const kept = useSyncExternalStore(subscribe, () => local(key));
  const views = useMemo(() => readViews(kept), [kept]);
  const keep = (change: (before: View[]) => View[]) => write(key, change(readViews(local(key))));
  return {
    views,
    full: views.length >= MOST,
    save: (name: string, filters: Filters) =>
      keep((before) => [...before.filter((one) => one.name !== name), { name, filters }]),
    drop: (name: string) => keep((before) => before.filter((one) => one.name !== name)),
  };
}

/** Browsers tell other tabs of a change, and `write` tells this one. */
function subscribe(changed: () => void): () => void {
  window.addEventListener("storage", changed);
  return () => window.removeEventListener("storage", changed);
}

function write(key: string, views: View[]) {
  const text = JSON.stringify(views.slice(0, MOST));
  try {
    localStorage.setItem(key, text);
    unstored.delete(key);
  } catch {
    unstored.set(key, text);
  }
  window.dispatchEvent(new StorageEvent("storage", { key }));
}

function local(key: string): string | null {
  try {
    return unstored.get(key) ?? localStorage.getItem(key);
  } catch {
    return null;
  }
}
