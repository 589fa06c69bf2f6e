/** One entry a line, for lists in a text area. */
export const toLines = (list: string[] | undefined): string => (list ?? []).join("\n");

export const fromLines = (text: string): string[] | undefined => {
  const list = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return list.length > 0 ? list : undefined;
};

/** Parses an integer; undefined if the field is empty, NaN if it is not a number. */
export const toNumber = (text: string): number | undefined =>
  text.trim() === "" ? undefined : /^\d+$/.test(text.trim()) ? Number(text.trim()) : Number.NaN;

/** Empty text becomes undefined. */
export const emptyToUndefined = (text: string): string | undefined => text.trim() || undefined;

/** Keeps the entries with a message: the problems of a form. */
export function onlyProblems<K extends string>(
  said: Partial<Record<K, string | undefined>>,
): Partial<Record<K, string>> {
  return Object.fromEntries(Object.entries(said).filter(([, text]) => text)) as Partial<
    Record<K, string>
  >;
}
