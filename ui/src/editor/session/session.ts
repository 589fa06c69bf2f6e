import { ApiError } from "@/api/client";
import { type Doc, sameDoc } from "../model/document";
import { type Choices, merge, renamesIn, threeWay } from "../model/merge";
import { type DraftConflict, joinTheirs } from "./conflict";
import { Drawing, type State } from "./drawing";
import { begin, edit, type History } from "./history";
import type { AbandonedDraft, LocalDraft, LocalDrafts } from "./localDraft";

/** A draft as the server has it; revision 0 means that there is none. */
export type Saved = { revision: number; base: number; doc?: Doc };
export type Version = { version: number; by: string; doc: Doc };

/** The server's side of a session. A refusal is an ApiError; any other error means no answer. */
export type DraftApi = {
  draft(): Promise<Saved>;
  save(doc: Doc, base: number, revision: number): Promise<Saved>;
  drop(revision: number): Promise<void>;
  /** One version, or the newest without a number. Version 0: the project has no pipeline yet. */
  version(number?: number): Promise<Version>;
  publish(doc: Doc, base: number, note?: string): Promise<number>;
};

/** An unsaved edit waits at most this many save delays, even while more edits arrive. */
const PATIENCE = 5;

/** Wait before the next try when the server does not answer, or names no Retry-After, in ms. */
const SILENCE = 5_000;

/**
 * The editing session of one window. It saves automatically, with If-Match on the revision it knows.
 * If another window was faster it merges, or asks: it never overwrites a revision it has not seen.
 */
export class Session extends Drawing {
  private revision: number;
  /** The draft on the server, or the published version when there is no draft. */
  private saved: Doc;
  /** The version that the server's draft is based on. */
  private savedBase: number;
  private closed = false;
  private timer?: ReturnType<typeof setTimeout>;
  /** Deadline for saving the oldest unsaved edit, even while the person still types. */
  private due?: number;
  private running?: Promise<void>;

  private constructor(
    private door: DraftApi,
    private keep: LocalDrafts,
    /** Delay between an edit and its save, in ms. */
    private wait: number,
    first: { state: State; saved: Doc; revision: number },
  ) {
    super(first.state);
    this.saved = first.saved;
    this.savedBase = first.state.base;
    this.revision = first.revision;
  }

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
    if (session.state.base !== newest.version && !session.state.clash) session.outdated(newest);
    return session;
  }

  /** Restores edits that closed windows left in this browser. Open conflicts stay stored. */
  private async resume({ kept, take }: AbandonedDraft, published: Version) {
    if (this.state.clash) return;
    if (!this.clean()) this.add(kept);
    else if (!sameDoc(kept.doc, this.saved)) await this.drawOn(kept, published);
    if (this.keepHere()) take();
  }

  /** With several closed windows, each after the first is merged like a concurrent save. */
  private add({ saved: base, doc: theirs }: LocalDraft) {
    const number = this.revision;
    this.meet({ kind: "window", base, theirs, by: "", number, apart: true });
  }

  /** Continues with edits that were made in this browser while the server was unreachable. */
  private async drawOn(kept: LocalDraft, published: Version) {
    const { base } = this.state;
    const untouched = kept.revision === this.revision;
    if (untouched && kept.base === base) return this.change(kept.doc);
    const theirs = this.saved;
    const on =
      kept.base === base ? undefined : await this.door.version(kept.base).catch(() => undefined);
    this.set({ history: begin(kept.doc), ...(on && { base: on.version, published: on.doc }) });
    // The window had taken over a version and was closed before saving it.
    if (untouched && on && on.version > base) return this.later(0);
    if (on && on.version < base)
      return this.meet({
        kind: "published",
        base: kept.saved,
        theirs,
        by: published.by,
        number: base,
        published: published.doc,
      });
    this.meet({ kind: "window", base: kept.saved, theirs, by: "", number: this.revision });
  }

  protected drawn() {
    this.due ??= Date.now() + PATIENCE * this.wait;
    this.later(Math.min(this.wait, Math.max(0, this.due - Date.now())));
  }

  private later(ms: number) {
    clearTimeout(this.timer);
    if (!this.closed) this.timer = setTimeout(() => void this.flush(), ms);
  }

  /** Stops saving; unsaved edits stay in this browser. */
  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.keep.close();
    this.keepHere();
  }

  private clean(): boolean {
    const onBase = this.revision === 0 || this.savedBase === this.state.base;
    return onBase && sameDoc(this.doc, this.saved);
  }

  /** Saves immediately, and resolves once everything is saved or saving has failed. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.due = undefined;
    while (this.running) await this.running;
    if (this.state.clash) {
      this.keepHere();
      return;
    }
    if (this.clean()) return this.settled();
    await this.alone(() => this.save());
    if (this.state.saving === "saving") await this.flush();
  }

  /** Requests run one at a time, since each needs the revision that the previous one returned. */
  private async alone<T>(work: () => Promise<T>): Promise<T> {
    while (this.running) await this.running;
    const done = work();
    const over = () => {
      this.running = undefined;
    };
    this.running = done.then(over, over);
    return done;
  }

  private async save() {
    const { doc } = this;
    const { base } = this.state;
    this.set({ saving: "saving" });
    try {
      const { revision } = await this.door.save(doc, base, this.revision);
      this.revision = revision;
      this.saved = doc;
      this.savedBase = base;
      if (this.clean()) this.settled();
    } catch (error) {
      await this.failed(error);
    }
  }

  private settled() {
    this.keep.write(undefined);
    if (this.state.saving !== "saved")
      this.set({ saving: "saved", savedAt: Date.now(), why: undefined, unkept: false });
  }

  private async failed(error: unknown) {
    if (!(error instanceof ApiError) || error.status >= 500) return this.again("offline", error);
    // Rate limit or timeout: about this request, not about the document.
    if (error.status === 429 || error.status === 408) return this.again("waiting", error);
    if (error.problem.code !== "draft_changed") {
      this.keepHere();
      this.set({ saving: "refused", why: error.message });
      return;
    }
    await this.join().catch((why) => this.again("offline", why));
  }

  /** Tries again, but not before the server's Retry-After. */
  private again(saving: "offline" | "waiting", error: unknown) {
    this.keepHere();
    this.set({ saving });
    const wanted = error instanceof ApiError ? error.retryAfter : undefined;
    this.later(Math.max(this.wait, wanted === undefined ? SILENCE : wanted * 1000));
  }

  /** Stores unsaved edits in this browser. Returns false if the browser refused. */
  keepHere(): boolean {
    const { doc, saved, revision } = this;
    const { base, unkept = false } = this.state;
    const kept = this.clean() || this.keep.write({ doc, saved, base, revision });
    if (kept === unkept) this.set({ unkept: !kept });
    return kept;
  }

  /** Another window saved: merges what does not conflict, and asks about the rest. */
  private async join() {
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
      this.meet({ ...window, base: old?.doc ?? this.saved, theirs: theirs.doc ?? this.saved });
      return;
    }
    this.revision = theirs.revision;
    this.meet({
      kind: "published",
      base: this.saved,
      theirs: theirs.doc ?? newest.doc,
      by: newest.by,
      number: newest.version,
      published: newest.doc,
    });
  }

  /** Merges when nothing conflicts; otherwise keeps both sides until a person decides. */
  private meet(clash: DraftConflict) {
    const { conflicts } = threeWay(clash.base, this.doc, clash.theirs);
    if (conflicts.length > 0) {
      this.keepHere();
      this.set({ clash, saving: "waiting" });
      return;
    }
    const next = merge(clash.base, this.doc, clash.theirs, {});
    this.take(clash, joinTheirs(this.state.history, clash, next));
  }

  private take(clash: DraftConflict, history: History<Doc>) {
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
    this.later(0);
  }

  /** Applies a person's choices. Undo reverts the choices, but none of the other side's edits. */
  resolve(choices: Choices) {
    const { clash, history } = this.state;
    if (!clash) return;
    const [mine, next] = [{}, choices].map((one) => merge(clash.base, this.doc, clash.theirs, one));
    if (!mine || !next) return;
    const before = joinTheirs(history, clash, mine);
    this.take(clash, sameDoc(mine, next) ? before : edit(before, next));
  }

  private outdated(newest: Version) {
    this.set({ clash: this.since(newest), newer: undefined });
  }

  private since({ doc, by, version }: Version): DraftConflict {
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

  /** Publishes the document. Returns undefined if somebody published first; `clash` says who. */
  async publish(note?: string): Promise<number | undefined> {
    await this.flush();
    if (this.state.clash) return undefined;
    const doc = this.doc;
    return this.alone(async () => {
      try {
        const version = await this.door.publish(doc, this.state.base, note);
        await this.begun(version, doc);
        return version;
      } catch (error) {
        if (!isCode(error, "outdated")) throw error;
        this.outdated(await this.door.version());
        return undefined;
      }
    });
  }

  /** After publishing: the new version is the base; edits of another window are merged. */
  private async begun(version: number, doc: Doc) {
    const before = this.saved;
    this.saved = doc;
    this.set({ base: version, published: doc, newer: undefined });
    if (this.revision > 0) await this.door.drop(this.revision).catch(() => undefined);
    const left = await this.door.draft().catch(() => undefined);
    if (left) this.savedBase = left.base;
    if (left?.doc && left.revision !== this.revision)
      this.meet({ kind: "window", base: before, theirs: left.doc, by: "", number: left.revision });
    else if (left) this.revision = left.revision;
    if (this.clean()) this.settled();
    else this.later(0);
  }

  /**
   * Discards the draft up to the revision seen here. Undo restores it while the page is open. False
   * if another window saved meanwhile: its edits are merged, and the person must confirm again.
   */
  async discard(): Promise<boolean> {
    clearTimeout(this.timer);
    return this.alone(async () => {
      try {
        await this.drop();
        this.thrown(await this.door.version());
        return true;
      } catch (error) {
        this.later(this.wait);
        if (!isCode(error, "draft_changed")) throw error;
        await this.join();
        return false;
      }
    });
  }

  /** Also drops the part of another window's draft that was shown here; unseen edits stay. */
  private async drop() {
    const { clash } = this.state;
    const seen = clash?.kind === "window" && !clash.apart ? clash.number : this.revision;
    if (seen > 0) await this.door.drop(seen);
    this.revision = 0;
  }

  private thrown(newest: Version) {
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
    this.settled();
  }

  /** This window published a version by restoring an old one. */
  async restarted(): Promise<void> {
    const newest = await this.door.version();
    if (sameDoc(this.doc, this.state.published)) {
      this.set({ base: newest.version, published: newest.doc, newer: undefined });
      if (this.revision === 0) this.saved = newest.doc;
      this.change(newest.doc);
    } else this.outdated(newest);
  }

  /**
   * Checks whether somebody published or another window saved. Without unsaved edits here, the
   * window takes over the change at once; otherwise the person is told and can continue.
   */
  async look(): Promise<void> {
    const [draft, newest] = await Promise.all([this.door.draft(), this.door.version()]);
    if (this.closed || this.running || this.state.clash) return;
    if (this.clean() && draft.revision !== this.revision) return this.alone(() => this.join());
    const { version, by } = newest;
    if (version <= this.state.base || version === this.state.newer?.version) return;
    if (this.clean() && sameDoc(this.doc, this.state.published)) this.meet(this.since(newest));
    else this.set({ newer: { version, by } });
  }

  /** Rebases onto the version that somebody published; conflicts are asked. */
  async follow(): Promise<void> {
    await this.flush();
    const newest = await this.door.version();
    if (!this.state.clash && newest.version > this.state.base) this.meet(this.since(newest));
  }
}

function isCode(error: unknown, code: string): error is ApiError {
  return error instanceof ApiError && error.problem.code === code;
}
