/** One entry a line, for lists in a text area. */
export const toLines = (list: string[] | undefined): string => (list ?? []).join("\n");

export const fromLines = (text: string): string[] | undefined => {
  const list = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return list.length > 0 ? list : undefined;
};

/** A whole number typed by a person; undefined when the field is empty, NaN when it is no number. */
export const toNumber = (text: string): number | undefined =>
  text.trim() === "" ? undefined : /^\d+$/.test(text.trim()) ? Number(text.trim()) : Number.NaN;

/** An empty text is an absent one. */
export const emptyToUndefined = (text: string): string | undefined => text.trim() || undefined;

/** Only the entries that have a sentence: what is wrong with a form. */
export function onlyProblems<K extends string>(
  said: Partial<Record<K, string | undefined>>,
): Partial<Record<K, string>> {
  return Object.fromEntries(Object.entries(said).filter(([, text]) => text)) as Partial<
    Record<K, string>
  >;
}
