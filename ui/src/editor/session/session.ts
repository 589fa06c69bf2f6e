import { ApiError } from "@/api/client";
import { type Doc, sameDoc } from "../model/document";
import { type Choices, merge, renamesIn, threeWay } from "../model/merge";
import { type DraftConflict, joinTheirs } from "./conflict";
import { Drawing, type State } from "./drawing";
import { begin, edit, type History } from "./history";
import type { AbandonedDraft, LocalDraft, LocalDrafts } from "./localDraft";

/** A draft as it is on the server; revision 0 is none. */
export type Saved = { revision: number; base: number; doc?: Doc };
export type Version = { version: number; by: string; doc: Doc };

/** What a session needs of the server. Refusals are ApiErrors; anything else is silence. */
export type DraftApi = {
  draft(): Promise<Saved>;
  save(doc: Doc, base: number, revision: number): Promise<Saved>;
  drop(revision: number): Promise<void>;
  /** One version; the newest without a number. Version 0 is a project without a pipeline. */
  version(number?: number): Promise<Version>;
  publish(doc: Doc, base: number, note?: string): Promise<number>;
};

/** So many waits after the first edit it is saved even while more edits come. */
const PATIENCE = 5;

/** How long a server that says nothing, or not how long, is left alone, in ms. */
const SILENCE = 5_000;

/**
 * One window that draws. It saves by itself, one save at a time, each over the revision it knows;
 * when that is not the newest, it puts both together or asks. It never saves over what it has not seen.
 */
export class Session extends Drawing {
  private revision: number;
  /** What the server has as the draft, or as the version when there is none. */
  private saved: Doc;
  /** The version that the server's draft is drawn on. */
  private savedBase: number;
  private closed = false;
  private timer?: ReturnType<typeof setTimeout>;
  /** When the first edit that is not saved yet has to be, whoever still types. */
  private due?: number;
  private running?: Promise<void>;

  private constructor(
    private door: DraftApi,
    private keep: LocalDrafts,
    /** How long after an edit it is saved, in ms. */
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

  /** What a window that is gone kept here is drawn on. What a person is asked about waits there. */
  private async resume({ kept, take }: AbandonedDraft, published: Version) {
    if (this.state.clash) return;
    if (!this.clean()) this.add(kept);
    else if (!sameDoc(kept.doc, this.saved)) await this.drawOn(kept, published);
    if (this.keepHere()) take();
  }

  /** Of several windows that are gone, each but the first is as one that saved meanwhile. */
  private add({ saved: base, doc: theirs }: LocalDraft) {
    const number = this.revision;
    this.meet({ kind: "window", base, theirs, by: "", number, apart: true });
  }

  /** What was drawn without the server, in this browser, is drawn on. */
  private async drawOn(kept: LocalDraft, published: Version) {
    const { base } = this.state;
    const untouched = kept.revision === this.revision;
    if (untouched && kept.base === base) return this.change(kept.doc);
    const theirs = this.saved;
    const on =
      kept.base === base ? undefined : await this.door.version(kept.base).catch(() => undefined);
    this.set({ history: begin(kept.doc), ...(on && { base: on.version, published: on.doc }) });
    // It took over a version and was closed before that was saved.
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

  /** Stops saving; what is not saved yet stays in this browser. */
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

  /** Saves now what is not saved, and waits until it is, or cannot be. */
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

  /** One thing with the server at a time: each knows the revision that the one before left. */
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
    // Too much at once, or too slow: said of this request, not of what is drawn.
    if (error.status === 429 || error.status === 408) return this.again("waiting", error);
    if (error.problem.code !== "draft_changed") {
      this.keepHere();
      this.set({ saving: "refused", why: error.message });
      return;
    }
    await this.join().catch((why) => this.again("offline", why));
  }

  /** The server is asked again, no sooner than it wants. */
  private again(saving: "offline" | "waiting", error: unknown) {
    this.keepHere();
    this.set({ saving });
    const wanted = error instanceof ApiError ? error.retryAfter : undefined;
    this.later(Math.max(this.wait, wanted === undefined ? SILENCE : wanted * 1000));
  }

  /** What is not saved is kept in this browser. False where it could not be. */
  keepHere(): boolean {
    const { doc, saved, revision } = this;
    const { base, unkept = false } = this.state;
    const kept = this.clean() || this.keep.write({ doc, saved, base, revision });
    if (kept === unkept) this.set({ unkept: !kept });
    return kept;
  }

  /** Another window saved: what does not meet is put together at once, the rest is asked. */
  private async join() {
    const theirs = await this.door.draft();
    const { base } = this.state;
    const newer = !theirs.doc || theirs.base > base;
    const window = { kind: "window", by: "", number: theirs.revision } as const;
    // That of a window which knows of no version since: ours has what was published.
    const old = !newer && theirs.base < base ? await this.door.version(theirs.base) : undefined;
    // The other window published, or threw the draft away: begin from what is published now.
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

  /** Puts both together when nothing meets; otherwise both wait for a person. */
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

  /** A person has decided what of both stays. Undo takes the decision back, and nothing of theirs. */
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

  /** Publishes what is drawn. Undefined when somebody was faster: the clash says who. */
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

  /** The draft is published: drawing goes on from that version, with what another window saved. */
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
   * Throws the draft away, as far as it was seen here. Undo brings it back while the page is open.
   * False when another window saved meanwhile: that is drawn too now, and it is to be asked anew.
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

  /** What a person was shown of another window's draft goes too; what nobody saw here stays. */
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
    // What comes back is on top of a version that came in between, not in its place.
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

  /** Another version was published from here, by restoring an old one. */
  async restarted(): Promise<void> {
    const newest = await this.door.version();
    if (sameDoc(this.doc, this.state.published)) {
      this.set({ base: newest.version, published: newest.doc, newer: undefined });
      if (this.revision === 0) this.saved = newest.doc;
      this.change(newest.doc);
    } else this.outdated(newest);
  }

  /**
   * Whether somebody published since, or another window saved. What is not drawn on here follows at
   * once, so that nobody draws on what is no more; whoever draws is told, and goes on.
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

  /** Draws on from the version that somebody published since: what meets is asked. */
  async follow(): Promise<void> {
    await this.flush();
    const newest = await this.door.version();
    if (!this.state.clash && newest.version > this.state.base) this.meet(this.since(newest));
  }
}

function isCode(error: unknown, code: string): error is ApiError {
  return error instanceof ApiError && error.problem.code === code;
}
