/** Somebody else's edits that came in: what was stored before has yet to get them. */
type Join<T> = {
  /** So many of the first of `past`, and of the last of `future`, are from before. */
  past: number;
  future: number;
  rebase: (old: T) => T;
};

/** Undo and redo without limit. Edits of one kind at one place, one after the other, are one. */
export type History<T> = { past: T[]; now: T; future: T[]; joins: Join<T>[]; kind?: string };

export function begin<T>(now: T): History<T> {
  return { past: [], now, future: [], joins: [] };
}

export function edit<T>(history: History<T>, next: T, kind?: string): History<T> {
  if (next === history.now) return history;
  const same = kind !== undefined && kind === history.kind && history.future.length === 0;
  const past = same ? history.past : [...history.past, history.now];
  return { past, now: next, future: [], joins: left(history.joins, past.length, 0), kind };
}

export function undo<T>(history: History<T>): History<T> {
  const { past, now, future, joins } = history;
  const at = past.length - 1;
  const last = past[at];
  if (last === undefined) return history;
  return {
    past: past.slice(0, -1),
    now: rebased(
      last,
      joins.filter((join) => at < join.past),
    ),
    future: [now, ...future],
    joins: left(joins, at, future.length),
  };
}

export function redo<T>(history: History<T>): History<T> {
  const { past, now, future, joins } = history;
  const [next, ...rest] = future;
  if (next === undefined) return history;
  return {
    past: [...past, now],
    now: rebased(
      next,
      joins.filter((join) => rest.length < join.future),
    ),
    future: rest,
    joins: left(joins, past.length, rest.length),
  };
}

/**
 * What is drawn got somebody else's edits. That is no step of this history: undo and redo go past
 * it and keep them. Older drawings get them only when they are gone back to, since most never are.
 */
export function join<T>(history: History<T>, next: T, rebase: (old: T) => T): History<T> {
  const { past, future, joins } = history;
  const all = [...joins, { past: past.length, future: future.length, rebase }];
  return { ...history, now: next, joins: left(all, past.length, future.length) };
}

function rebased<T>(old: T, joins: Join<T>[]): T {
  return joins.reduce((now, { rebase }) => rebase(now), old);
}

/** Joins that something is still from before of, when so much is left. */
function left<T>(joins: Join<T>[], past: number, future: number): Join<T>[] {
  return joins
    .map((one) => ({
      ...one,
      past: Math.min(one.past, past),
      future: Math.min(one.future, future),
    }))
    .filter((one) => one.past + one.future > 0);
}
