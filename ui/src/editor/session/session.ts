import { ApiError } from "@/api/client";
import { type Doc, sameDoc } from "../model/document";
import { joinTheirs } from "./conflict";
import { begin, edit } from "./history";
import type { AbandonedDraft, LocalDraft, LocalDrafts } from "./localDraft";
import { MergedDrawing } from "./mergedDrawing";
import type { DraftApi, Version } from "./serverDraft";

/** The editing session of one window: how it begins, publishes, discards, and follows others. */
export class Session extends MergedDrawing {
  static async open(door: DraftApi, keep: LocalDrafts, wait = 800): Promise<Session> {
    const [draft, newest] = await Promise.all([door.draft(), door.version()]);
    const base = draft.revision > 0 ? draft.base : newest.version;
    const published = base === newest.version ? newest : await door.version(base);
    const saved = draft.doc ?? published.doc;
    const session = new Session(door, keep, wait, {
      saved,
      revision: draft.revision,
      state: { history: begin(saved), base, published: published.doc, saving: "saved" },
    });
    for (const left of await keep.left()) await session.resume(left, published);
    if (session.state.base !== newest.version && !session.state.clash)
      session.askAboutVersion(newest);
    return session;
  }

  /** Restores edits that closed windows left in this browser. Open conflicts stay stored. */
  private async resume({ kept, take }: AbandonedDraft, published: Version) {
    if (this.state.clash) return;
    if (!this.isClean()) this.mergeAbandoned(kept);
    else if (!sameDoc(kept.doc, this.saved)) await this.continueEdits(kept, published);
    if (this.keepHere()) take();
  }

  /** With several closed windows, each after the first is merged like a concurrent save. */
  private mergeAbandoned({ saved: base, doc: theirs }: LocalDraft) {
    const number = this.revision;
    this.mergeOrAsk({ kind: "window", base, theirs, by: "", number, apart: true });
  }

  /** Continues with edits that were made in this browser while the server was unreachable. */
  private async continueEdits(kept: LocalDraft, published: Version) {
    const { base } = this.state;
    const untouched = kept.revision === this.revision;
    if (untouched && kept.base === base) return this.change(kept.doc);
    const theirs = this.saved;
    const on =
      kept.base === base ? undefined : await this.door.version(kept.base).catch(() => undefined);
    this.set({ history: begin(kept.doc), ...(on && { base: on.version, published: on.doc }) });
    // The window had taken over a version and was closed before saving it.
    if (untouched && on && on.version > base) return this.scheduleSave(0);
    if (on && on.version < base)
      return this.mergeOrAsk({
        kind: "published",
        base: kept.saved,
        theirs,
        by: published.by,
        number: base,
        published: published.doc,
      });
    this.mergeOrAsk({ kind: "window", base: kept.saved, theirs, by: "", number: this.revision });
  }

  /** Publishes the document. Returns undefined if somebody published first; `clash` says who. */
  async publish(note?: string): Promise<number | undefined> {
    await this.flush();
    if (this.state.clash) return undefined;
    const doc = this.doc;
    return this.runAlone(async () => {
      try {
        const version = await this.door.publish(doc, this.state.base, note);
        await this.startFromVersion(version, doc);
        return version;
      } catch (error) {
        if (!isCode(error, "outdated")) throw error;
        this.askAboutVersion(await this.door.version());
        return undefined;
      }
    });
  }

  /** After publishing: the new version is the base; edits of another window are merged. */
  private async startFromVersion(version: number, doc: Doc) {
    const before = this.saved;
    this.saved = doc;
    this.set({ base: version, published: doc, newer: undefined });
    if (this.revision > 0) await this.door.drop(this.revision).catch(() => undefined);
    const left = await this.door.draft().catch(() => undefined);
    if (left) this.savedBase = left.base;
    if (left?.doc && left.revision !== this.revision)
      this.mergeOrAsk({
        kind: "window",
        base: before,
        theirs: left.doc,
        by: "",
        number: left.revision,
      });
    else if (left) this.revision = left.revision;
    if (this.isClean()) this.markSaved();
    else this.scheduleSave(0);
  }

  /**
   * Discards the draft up to the revision seen here. Undo restores it while the page is open. False
   * if another window saved meanwhile: its edits are merged, and the person must confirm again.
   */
  async discard(): Promise<boolean> {
    clearTimeout(this.timer);
    return this.runAlone(async () => {
      try {
        await this.dropDraft();
        this.resetTo(await this.door.version());
        return true;
      } catch (error) {
        this.scheduleSave(this.wait);
        if (!isCode(error, "draft_changed")) throw error;
        await this.joinServer();
        return false;
      }
    });
  }

  /** Also drops the part of another window's draft that was shown here; unseen edits stay. */
  private async dropDraft() {
    const { clash } = this.state;
    const seen = clash?.kind === "window" && !clash.apart ? clash.number : this.revision;
    if (seen > 0) await this.door.drop(seen);
    this.revision = 0;
  }

  private resetTo(newest: Version) {
    const { history, published, base } = this.state;
    this.saved = newest.doc;
    const thrown = edit(history, newest.doc);
    // Undo puts the edits on top of a version published in between, not in place of it.
    const since = { base: published, theirs: newest.doc };
    this.set({
      history: newest.version === base ? thrown : joinTheirs(thrown, since, newest.doc),
      base: newest.version,
      published: newest.doc,
      clash: undefined,
      newer: undefined,
      saving: "saving",
    });
    this.markSaved();
  }

  /** This window published a version by restoring an old one. */
  async followRestored(): Promise<void> {
    const newest = await this.door.version();
    if (sameDoc(this.doc, this.state.published)) {
      this.set({ base: newest.version, published: newest.doc, newer: undefined });
      if (this.revision === 0) this.saved = newest.doc;
      this.change(newest.doc);
    } else this.askAboutVersion(newest);
  }

  /**
   * Checks whether somebody published or another window saved. Without unsaved edits here, the
   * window takes over the change at once; otherwise the person is told and can continue.
   */
  async look(): Promise<void> {
    const [draft, newest] = await Promise.all([this.door.draft(), this.door.version()]);
    if (this.closed || this.running || this.state.clash) return;
    if (this.isClean() && draft.revision !== this.revision)
      return this.runAlone(() => this.joinServer());
    const { version, by } = newest;
    if (version <= this.state.base || version === this.state.newer?.version) return;
    if (this.isClean() && sameDoc(this.doc, this.state.published))
      this.mergeOrAsk(this.conflictWith(newest));
    else this.set({ newer: { version, by } });
  }

  /** Rebases onto the version that somebody published; conflicts are asked. */
  async follow(): Promise<void> {
    await this.flush();
    const newest = await this.door.version();
    if (!this.state.clash && newest.version > this.state.base)
      this.mergeOrAsk(this.conflictWith(newest));
  }
}

function isCode(error: unknown, code: string): error is ApiError {
  return error instanceof ApiError && error.problem.code === code;
}
