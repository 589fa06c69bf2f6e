import type { Tagged } from "./etag";

type Values = Record<string, unknown>;

/** An object as a form was opened on it, and a way to read what it is by now. */
export type Opened<T> = Tagged<T> & { again: () => Promise<Tagged<T>> };

/** One field that somebody else changed between the opening of a form and its save. */
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

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** What changed meanwhile, field by field, what needs a choice first. What both set to the same is no news. */
export function changesSince<V extends Values>(opened: V, theirs: V, mine: V): Change[] {
  return Object.keys(opened)
    .filter((name) => !same(opened[name], theirs[name]) && !same(theirs[name], mine[name]))
    .map((name) => ({
      name,
      opened: opened[name],
      theirs: theirs[name],
      mine: mine[name],
      both: !same(opened[name], mine[name]),
    }))
    .sort(choicesFirst);
}

/** The values of some fields, as one side has them. */
export const sideOf = (changes: Change[], side: Side): Values =>
  Object.fromEntries(changes.map((one) => [one.name, one[side]]));

/** Which side a field stands on now; neither when something else was typed. */
export function standsOn(change: Change, value: unknown): Side | undefined {
  if (same(value, change.theirs)) return "theirs";
  return same(value, change.mine) ? "mine" : undefined;
}

/** A form on a part of what is read at its path. */
export function partOf<W, T>(whole: Opened<W>, part: (whole: W) => T): Opened<T> {
  const of = ({ value, tag }: Tagged<W>) => ({ value: part(value), tag });
  return { ...of(whole), again: async () => of(await whole.again()) };
}
