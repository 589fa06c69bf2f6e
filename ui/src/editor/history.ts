/** Undo and redo without limit. Edits of one kind at one place, one after the other, are one. */
export type History<T> = { past: T[]; now: T; future: T[]; kind?: string };

export function begin<T>(now: T): History<T> {
  return { past: [], now, future: [] };
}

export function edit<T>(history: History<T>, next: T, kind?: string): History<T> {
  if (next === history.now) return history;
  const same = kind !== undefined && kind === history.kind && history.future.length === 0;
  return {
    past: same ? history.past : [...history.past, history.now],
    now: next,
    future: [],
    kind,
  };
}

export function undo<T>(history: History<T>): History<T> {
  const last = history.past[history.past.length - 1];
  if (last === undefined) return history;
  return {
    past: history.past.slice(0, -1),
    now: last,
    future: [history.now, ...history.future],
  };
}

export function redo<T>(history: History<T>): History<T> {
  const [next, ...future] = history.future;
  if (next === undefined) return history;
  return { past: [...history.past, history.now], now: next, future };
}
