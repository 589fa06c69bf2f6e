import type { Doc } from "../model/document";
import { sameDoc } from "../model/document";
import { type Choices, merge, renamesIn, threeWay } from "../model/merge";
import { AutosavedDrawing } from "./autosavedDrawing";
import { type DraftConflict, joinTheirs } from "./conflict";
import { edit, type History } from "./history";
import type { Version } from "./serverDraft";

/**
 * A drawing that merges what other windows saved and what was published, or asks: it never
 * overwrites a revision that it has not seen.
 */
export abstract class MergedDrawing extends AutosavedDrawing {
  /** Another window saved: merges what does not conflict, and asks about the rest. */
  protected async joinServer() {
    const theirs = await this.door.draft();
    const { base } = this.state;
    const newer = !theirs.doc || theirs.base > base;
    const window = { kind: "window", by: "", number: theirs.revision } as const;
    // The other draft is based on an older version; ours already contains the newer one.
    const old = !newer && theirs.base < base ? await this.door.version(theirs.base) : undefined;
    // The other window published or discarded the draft: start from the published version.
    const newest = newer ? await this.door.version(theirs.doc && theirs.base) : undefined;
    this.savedBase = theirs.base;
    if (!newest) {
      this.mergeOrAsk({
        ...window,
        base: old?.doc ?? this.saved,
        theirs: theirs.doc ?? this.saved,
      });
      return;
    }
    this.revision = theirs.revision;
    this.mergeOrAsk({
      kind: "published",
      base: this.saved,
      theirs: theirs.doc ?? newest.doc,
      by: newest.by,
      number: newest.version,
      published: newest.doc,
    });
  }

  /** Merges when nothing conflicts; otherwise keeps both sides until a person decides. */
  protected mergeOrAsk(clash: DraftConflict) {
    const { conflicts } = threeWay(clash.base, this.doc, clash.theirs);
    if (conflicts.length > 0) {
      this.keepHere();
      this.set({ clash, saving: "waiting" });
      return;
    }
    const next = merge(clash.base, this.doc, clash.theirs, {});
    this.takeMerged(clash, joinTheirs(this.state.history, clash, next));
  }

  protected takeMerged(clash: DraftConflict, history: History<Doc>) {
    const renamed = renamesIn(clash.base, this.doc, clash.theirs, history.now);
    if (!clash.apart) this.saved = clash.theirs;
    if (clash.kind === "window") this.revision = clash.number;
    const moved = clash.kind === "published" && clash.number !== this.state.base;
    this.set({
      history,
      clash: undefined,
      saving: "saving",
      ...(moved && { base: clash.number, published: clash.published ?? clash.theirs }),
      ...(moved && { newer: undefined }),
      ...(renamed.size > 0 && { renamed }),
    });
    this.scheduleSave(0);
  }

  /** Applies a person's choices. Undo reverts the choices, but none of the other side's edits. */
  resolve(choices: Choices) {
    const { clash, history } = this.state;
    if (!clash) return;
    const [mine, next] = [{}, choices].map((one) => merge(clash.base, this.doc, clash.theirs, one));
    if (!mine || !next) return;
    const before = joinTheirs(history, clash, mine);
    this.takeMerged(clash, sameDoc(mine, next) ? before : edit(before, next));
  }

  protected askAboutVersion(newest: Version) {
    this.set({ clash: this.conflictWith(newest), newer: undefined });
  }

  protected conflictWith({ doc, by, version }: Version): DraftConflict {
    const { published: base } = this.state;
    return {
      kind: "published",
      base,
      theirs: doc,
      by,
      number: version,
      apart: this.revision > 0,
    };
  }
}
