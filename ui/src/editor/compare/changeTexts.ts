import { plural } from "@/plural";

/** What the list of changes and the question about discarding them say; loaded with them. */
export const changeTexts = {
  discardTitle: "Discard your draft?",
  discardBody: (what: string, version: number) =>
    `This discards ${what}. The canvas then shows ${version > 0 ? `v${version}` : "nothing"}; undo restores your draft while this page is open.`,
  stepChanges: (count: number) => plural(count, "changed step"),
  asides: ({ comments, places, input }: { comments: number; places: number; input: boolean }) =>
    [
      input && "the input",
      comments > 0 && plural(comments, "comment"),
      places > 0 && plural(places, "place"),
    ]
      .filter(Boolean)
      .join(" and "),
  onlyAsides: (what: string) => `No step changed, but ${what}.`,
  alsoAsides: (what: string) => `Besides, ${what}.`,
  discardYes: "Discard",
  keep: "Keep",
};
