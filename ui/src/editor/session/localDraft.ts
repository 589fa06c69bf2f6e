import { idempotencyKey } from "@/api/client";
import type { Doc } from "../model/document";

/** What this browser keeps of a drawing while the server cannot be reached, or waits for a person. */
export type Kept = { doc: Doc; saved: Doc; base: number; revision: number };

/** What a window that is gone left behind. Whoever has it in its own place takes it away from there. */
export type Left = { kept: Kept; take(): void };

export type Keep = {
  /** The oldest first. */
  left(): Promise<Left[]>;
  /** False where the browser refused: its storage is full or forbidden. */
  write(kept: Kept | undefined): boolean;
  /** The window draws no more: what it wrote is for the next one. */
  close(): void;
};

type Entry = Kept & { at: number; gone?: boolean };

/**
 * Each window has a place of its own, so that none takes away what another waits for a person with.
 * A lock of the window's name says that it lives, and goes with it even when the browser dies. Where
 * there are no locks, as on plain HTTP, every place may be of one that is gone.
 */
export function keepOf(project: string, person: string): Keep {
  const all = `nullops-draft:${person}:${project}:`;
  const own = all + idempotencyKey();
  const lock = live(own);
  let gone = false;
  return {
    left: async () => {
      const living = await livingNow();
      return entries(all)
        .filter(({ key, entry }) => key !== own && (entry.gone || !living.has(key)))
        .sort((a, b) => a.entry.at - b.entry.at)
        .map(({ key, entry }) => ({ kept: entry, take: () => localStorage.removeItem(key) }));
    },
    write: (kept) => {
      try {
        if (!kept) localStorage.removeItem(own);
        else localStorage.setItem(own, JSON.stringify({ ...kept, at: Date.now(), gone }));
        return true;
      } catch {
        return false;
      }
    },
    close: () => {
      gone = true;
      lock();
    },
  };
}

/** Says that a window lives until what it gives is called, or the window is no more. */
function live(name: string): () => void {
  let over = () => {};
  const until = new Promise<void>((resolve) => {
    over = resolve;
  });
  void navigator.locks?.request(name, () => until).catch(() => undefined);
  return over;
}

async function livingNow(): Promise<Set<string>> {
  const held = (await navigator.locks?.query().catch(() => undefined))?.held ?? [];
  return new Set(held.flatMap(({ name }) => name ?? []));
}

function entries(prefix: string): { key: string; entry: Entry }[] {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(prefix));
    return keys.flatMap((key) => entryAt(key));
  } catch {
    // A forbidden storage holds nothing.
    return [];
  }
}

function entryAt(key: string): { key: string; entry: Entry }[] {
  try {
    return [{ key, entry: JSON.parse(localStorage.getItem(key) ?? "") as Entry }];
  } catch {
    return [];
  }
}
