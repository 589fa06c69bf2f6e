/** How numbers are written, and what the texts are in. A translation of the texts comes with its own. */
export const locale = "en-GB";

/** How moments are written: in the language of the texts, with the order and the clock of the reader. */
export const dateLocale = localeFor(globalThis.navigator?.languages);

/** The language of the texts as it is written where a reader is, whatever the reader's language. */
export function localeFor([first]: readonly string[] = []): string {
  const region = first && new Intl.Locale(first).maximize().region;
  return region ? `${locale.slice(0, 2)}-${region}` : locale;
}
