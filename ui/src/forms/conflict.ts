import type { Tagged } from "./etag";

type Values = Record<string, unknown>;

/** The object that a form was opened with, and a way to reload it. */
export type Opened<T> = Tagged<T> & { again: () => Promise<Tagged<T>> };

/** A field that somebody else changed between opening a form and saving it. */
export type Change = {
  name: string;
  opened: unknown;
  theirs: unknown;
  mine: unknown;
  /** Changed on both sides, to different things: a person has to choose. */
  both: boolean;
};

export type Side = "theirs" | "mine";

const choicesFirst = (a: Change, b: Change) => Number(b.both) - Number(a.both);

const isSameValue = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/**
 * The fields that changed meanwhile, conflicts first. A field that both set to the same value is
 * left out.
 */
export function changesSince<V extends Values>(opened: V, theirs: V, mine: V): Change[] {
  return Object.keys(opened)
    .filter(
      (name) => !isSameValue(opened[name], theirs[name]) && !isSameValue(theirs[name], mine[name]),
    )
    .map((name) => ({
      name,
      opened: opened[name],
      theirs: theirs[name],
      mine: mine[name],
      both: !isSameValue(opened[name], mine[name]),
    }))
    .sort(choicesFirst);
}

/** The values of some fields, as one side has them. */
export const sideOf = (changes: Change[], side: Side): Values =>
  Object.fromEntries(changes.map((one) => [one.name, one[side]]));

/** Which side's value a field has; undefined if it is a third value. */
export function standsOn(change: Change, value: unknown): Side | undefined {
  if (isSameValue(value, change.theirs)) return "theirs";
  return isSameValue(value, change.mine) ? "mine" : undefined;
}

/** A form on a part of what is read at its path. */
export function partOf<W, T>(whole: Opened<W>, part: (whole: W) => T): Opened<T> {
  const of = ({ value, tag }: Tagged<W>) => ({ value: part(value), tag });
  return { ...of(whole), again: async () => of(await whole.again()) };
}
