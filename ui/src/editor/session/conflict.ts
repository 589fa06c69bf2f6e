import type { Doc } from "../model/document";
import { rebase } from "../model/merge";
import { type History, joinEdits } from "./history";

/** Concurrent changes that conflict. Both sides are kept until a person decides. */
export type DraftConflict = {
  kind: "published" | "window";
  base: Doc;
  theirs: Doc;
  by: string;
  /** The version or draft revision of their side. */
  number: number;
  /** The published content that the merged draft will be based on. */
  published?: Doc;
  /** Their side is not the server's current draft, which the next save still has to replace. */
  apart?: boolean;
};

/** Adds their edits to the undo history, so that undo does not revert them. */
export function joinTheirs(
  history: History<Doc>,
  both: Pick<DraftConflict, "base" | "theirs">,
  next: Doc,
) {
  return joinEdits(history, next, (old: Doc) => rebase(both.base, old, both.theirs));
}
