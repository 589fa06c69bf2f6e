/** Somebody else's merged edits, which the older history entries do not contain yet. */
type Join<T> = {
  /** How many entries, the first of `past` and the last of `future`, are older than the join. */
  past: number;
  future: number;
  rebase: (old: T) => T;
};

/** Unlimited undo and redo. Consecutive edits of the same kind form one entry. */
export type History<T> = { past: T[]; now: T; future: T[]; joins: Join<T>[]; kind?: string };

export function begin<T>(now: T): History<T> {
  return { past: [], now, future: [], joins: [] };
}

export function edit<T>(history: History<T>, next: T, kind?: string): History<T> {
  if (next === history.now) return history;
  const same = kind !== undefined && kind === history.kind && history.future.length === 0;
  const past = same ? history.past : [...history.past, history.now];
  return {
    past,
    now: next,
    future: [],
    joins: remainingJoins(history.joins, past.length, 0),
    kind,
  };
}

export function undo<T>(history: History<T>): History<T> {
  const { past, now, future, joins } = history;
  const at = past.length - 1;
  const last = past[at];
  if (last === undefined) return history;
  return {
    past: past.slice(0, -1),
    now: applyJoins(
      last,
      joins.filter((join) => at < join.past),
    ),
    future: [now, ...future],
    joins: remainingJoins(joins, at, future.length),
  };
}

export function redo<T>(history: History<T>): History<T> {
  const { past, now, future, joins } = history;
  const [next, ...rest] = future;
  if (next === undefined) return history;
  return {
    past: [...past, now],
    now: applyJoins(
      next,
      joins.filter((join) => rest.length < join.future),
    ),
    future: rest,
    joins: remainingJoins(joins, past.length, rest.length),
  };
}

/**
 * Records that somebody else's edits were merged. This is no undo entry: undo and redo keep these
 * edits. Older documents are rebased lazily, when undo reaches them, since most are never visited.
 */
export function joinEdits<T>(history: History<T>, next: T, rebase: (old: T) => T): History<T> {
  const { past, future, joins } = history;
  const all = [...joins, { past: past.length, future: future.length, rebase }];
  return { ...history, now: next, joins: remainingJoins(all, past.length, future.length) };
}

function applyJoins<T>(old: T, joins: Join<T>[]): T {
  return joins.reduce((now, { rebase }) => rebase(now), old);
}

/** The joins that still apply to an entry, given the entries that are left. */
function remainingJoins<T>(joins: Join<T>[], past: number, future: number): Join<T>[] {
  return joins
    .map((one) => ({
      ...one,
      past: Math.min(one.past, past),
      future: Math.min(one.future, future),
    }))
    .filter((one) => one.past + one.future > 0);
}
