import { idempotencyKey } from "@/api/client";
import type { Doc } from "../model/document";

/** Unsaved edits stored in this browser while the server is unreachable or a conflict is open. */
export type LocalDraft = { doc: Doc; saved: Doc; base: number; revision: number };

/** The edits of a closed window. Call `take` to remove the entry once they are stored elsewhere. */
export type AbandonedDraft = { kept: LocalDraft; take(): void };

export type LocalDrafts = {
  /** Entries of closed windows, oldest first. */
  left(): Promise<AbandonedDraft[]>;
  /** Returns false if the browser refused, because its storage is full or blocked. */
  write(kept: LocalDraft | undefined): boolean;
  /** The window is closing: marks its entry for the next window to pick up. */
  close(): void;
};

type Entry = LocalDraft & { at: number; gone?: boolean };

/**
 * Each window has its own localStorage key, so that no window removes edits for which another one
 * waits for a person's decision. A Web Lock named after the key shows that the window is alive; the
 * browser releases it even after a crash. Without Web Locks (plain HTTP) every key counts as
 * abandoned.
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

/** Holds the lock that shows the window is alive, until the returned function is called. */
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
    // Blocked storage has no entries.
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
