import { useCallback, useMemo, useSyncExternalStore } from "react";

/** So many favourites are still found at a glance. */
const MOST = 100;

/** The ids of a person's favourites. Broken storage is none. */
export function readStars(stored: string | null): string[] {
  try {
    const list: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(list) ? list.map(String).slice(-MOST) : [];
  } catch {
    return [];
  }
}

/** A person's favourites, kept in this browser as their views are. Other tabs change them too. */
export function useStars(user: string) {
  const key = `nullops.stars.${user}`;
  const kept = useSyncExternalStore(subscribe, () => read(key));
  const stars = useMemo(() => new Set(readStars(kept)), [kept]);
  const toggle = useCallback(
    (id: string) => {
      const before = readStars(read(key));
      const after = before.includes(id) ? before.filter((one) => one !== id) : [...before, id];
      write(key, JSON.stringify(after.slice(-MOST)));
    },
    [key],
  );
  return { stars, toggle };
}

/** Browsers tell other tabs of a change, and `write` tells this one. */
export function subscribe(changed: () => void): () => void {
  window.addEventListener("storage", changed);
  return () => window.removeEventListener("storage", changed);
}

export function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function write(key: string, text: string) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Storage is off: it lasts for nobody.
  }
  window.dispatchEvent(new StorageEvent("storage", { key }));
}
