import { idempotencyKey } from "@/api/client";
import type { Doc } from "../model/document";

/** What this browser keeps of a drawing while the server cannot be reached, or waits for a person. */
export type LocalDraft = { doc: Doc; saved: Doc; base: number; revision: number };

/** What a window that is gone left behind. Whoever has it in its own place takes it away from there. */
export type AbandonedDraft = { kept: LocalDraft; take(): void };

export type LocalDrafts = {
  /** The oldest first. */
  left(): Promise<AbandonedDraft[]>;
  /** False where the browser refused: its storage is full or forbidden. */
  write(kept: LocalDraft | undefined): boolean;
  /** The window draws no more: what it wrote is for the next one. */
  close(): void;
};

type Entry = LocalDraft & { at: number; gone?: boolean };

/**
 * Each window has a place of its own, so that none takes away what another waits for a person with.
 * A lock of the window's name says that it lives, and goes with it even when the browser dies. Where
 * there are no locks, as on plain HTTP, every place may be of one that is gone.
 */
export function openLocalDrafts(project: string, person: string): LocalDrafts {
  const all = `nullops-draft:${person}:${project}:`;
  const own = all + idempotencyKey();
  const lock = holdLock(own);
  let gone = false;
  return {
    left: async () => {
      const living = await listHeldLocks();
      return listEntries(all)
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
function holdLock(name: string): () => void {
  let over = () => {};
  const until = new Promise<void>((resolve) => {
    over = resolve;
  });
  void navigator.locks?.request(name, () => until).catch(() => undefined);
  return over;
}

async function listHeldLocks(): Promise<Set<string>> {
  const held = (await navigator.locks?.query().catch(() => undefined))?.held ?? [];
  return new Set(held.flatMap(({ name }) => name ?? []));
}

function listEntries(prefix: string): { key: string; entry: Entry }[] {
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
