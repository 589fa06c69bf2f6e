import type { Doc } from "../model/document";
import { rebase } from "../model/merge";
import { type History, join } from "./history";

/** Somebody else's work that came in between: both are kept until a person decides. */
export type DraftConflict = {
  kind: "published" | "window";
  base: Doc;
  theirs: Doc;
  by: string;
  /** The version, or the revision, that theirs is. */
  number: number;
  /** What is published as the version that is drawn on then. */
  published?: Doc;
  /** Theirs is not what the server holds as the draft: that is still to be saved over. */
  apart?: boolean;
};

/** A history in which they drew meanwhile: what is gone back to has what they did. */
export function joinTheirs(
  history: History<Doc>,
  both: Pick<DraftConflict, "base" | "theirs">,
  next: Doc,
) {
  return join(history, next, (old: Doc) => rebase(both.base, old, both.theirs));
}
