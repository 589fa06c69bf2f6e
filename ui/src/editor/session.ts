import { ApiError } from "@/api/client";
import { begin, edit, type History, join, redo, undo } from "./history";
import { type Choices, merge, rebase, threeWay } from "./merge";
import { type Doc, sameDoc } from "./model";

/** A draft as it is on the server; revision 0 is none. */
export type Saved = { revision: number; base: number; doc?: Doc };
export type Version = { version: number; by: string; doc: Doc };

/** What a session needs of the server. Refusals are ApiErrors; anything else is silence. */
export type Door = {
  draft(): Promise<Saved>;
  save(doc: Doc, base: number, revision: number): Promise<Saved>;
  drop(revision: number): Promise<void>;
  /** One version; the newest without a number. Version 0 is a project without a pipeline. */
  version(number?: number): Promise<Version>;
  publish(doc: Doc, base: number, note?: string): Promise<number>;
};

/** What this browser keeps while the server cannot be reached. */
export type Kept = { doc: Doc; saved: Doc; base: number; revision: number };
export type Keep = { read(): Kept | undefined; write(kept: Kept | undefined): void };

/** Somebody else's work that came in between: both are kept until a person decides. */
export type Clash = {
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

export type State = {
  history: History<Doc>;
  /** The version that is drawn on, and what it looks like. */
  base: number;
  published: Doc;
  saving: "saved" | "waiting" | "saving" | "offline" | "refused";
  savedAt?: number;
  why?: string;
  clash?: Clash;
};

/** So many waits after the first edit it is saved even while more edits come. */
const PATIENCE = 5;

/**
 * One window that draws. It saves by itself, one save at a time, each over the revision it knows;
 * when that is not the newest, it puts both together or asks. It never saves over what it has not seen.
 */
export class Session {
  state: State;
  private listeners = new Set<() => void>();
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
    private door: Door,
    private keep: Keep,
    /** How long after an edit it is saved, in ms. */
    private wait: number,
    first: { state: State; saved: Doc; revision: number },
  ) {
    this.state = first.state;
    this.saved = first.saved;
    this.savedBase = first.state.base;
    this.revision = first.revision;
  }

  static async open(door: Door, keep: Keep, wait = 800): Promise<Session> {
    const [draft, newest] = await Promise.all([door.draft(), door.version()]);
    const base = draft.revision > 0 ? draft.base : newest.version;
    const published = base === newest.version ? newest : await door.version(base);
    const saved = draft.doc ?? published.doc;
    const session = new Session(door, keep, wait, {
      saved,
      revision: draft.revision,
      state: { history: begin(saved), base, published: published.doc, saving: "saved" },
    });
    await session.resume(keep.read(), published);
    if (session.state.base !== newest.version && !session.state.clash) session.outdated(newest);
    return session;
  }

  /** What was drawn without the server, in this browser, is drawn on. */
  private async resume(kept: Kept | undefined, published: Version) {
    if (!kept || sameDoc(kept.doc, this.saved)) return this.keep.write(undefined);
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

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  };

  get = () => this.state;

  get doc(): Doc {
    return this.state.history.now;
  }

  private set(next: Partial<State>) {
    this.state = { ...this.state, ...next };
    for (const listener of this.listeners) listener();
  }

  change(next: Doc, kind?: string) {
    this.turn(edit(this.state.history, next, kind));
  }

  undo() {
    this.turn(undo(this.state.history));
  }

  redo() {
    this.turn(redo(this.state.history));
  }

  private turn(history: History<Doc>) {
    if (history === this.state.history) return;
    this.set({ history, saving: "waiting", why: undefined });
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
    if (this.state.clash) return this.keepHere();
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
      this.set({ saving: "saved", savedAt: Date.now(), why: undefined });
  }

  private async failed(error: unknown) {
    if (!(error instanceof ApiError) || error.status >= 500) return this.silent();
    if (error.problem.code !== "draft_changed") {
      this.keepHere();
      this.set({ saving: "refused", why: error.message });
      return;
    }
    await this.join().catch(() => this.silent());
  }

  /** The server said nothing: it is asked again. */
  private silent() {
    this.keepHere();
    this.set({ saving: "offline" });
    this.later(Math.max(this.wait, 5000));
  }

  /** What is not saved is kept in this browser. */
  keepHere() {
    if (this.clean()) return;
    this.keep.write({
      doc: this.doc,
      saved: this.saved,
      base: this.state.base,
      revision: this.revision,
    });
  }

  /** Another window saved: what does not meet is put together at once, the rest is asked. */
  private async join() {
    const theirs = await this.door.draft();
    const { base, published } = this.state;
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
      base: published,
      theirs: theirs.doc ?? newest.doc,
      by: newest.by,
      number: newest.version,
      published: newest.doc,
    });
  }

  /** Puts both together when nothing meets; otherwise both wait for a person. */
  private meet(clash: Clash) {
    const { conflicts } = threeWay(clash.base, this.doc, clash.theirs);
    if (conflicts.length > 0) {
      this.keepHere();
      this.set({ clash, saving: "waiting" });
      return;
    }
    const next = merge(clash.base, this.doc, clash.theirs, {});
    this.take(clash, joined(this.state.history, clash, next));
  }

  private take(clash: Clash, history: History<Doc>) {
    if (!clash.apart) this.saved = clash.theirs;
    if (clash.kind === "window") this.revision = clash.number;
    const moved = clash.kind === "published" && clash.number !== this.state.base;
    this.set({
      history,
      clash: undefined,
      saving: "saving",
      ...(moved ? { base: clash.number, published: clash.published ?? clash.theirs } : {}),
    });
    this.later(0);
  }

  /** A person has decided what of both stays. Undo takes the decision back, and nothing of theirs. */
  resolve(choices: Choices) {
    const { clash, history } = this.state;
    if (!clash) return;
    const [mine, next] = [{}, choices].map((one) => merge(clash.base, this.doc, clash.theirs, one));
    if (!mine || !next) return;
    const before = joined(history, clash, mine);
    this.take(clash, sameDoc(mine, next) ? before : edit(before, next));
  }

  private outdated(newest: Version) {
    this.set({
      clash: {
        kind: "published",
        base: this.state.published,
        theirs: newest.doc,
        by: newest.by,
        number: newest.version,
        apart: this.revision > 0,
      },
    });
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
        if (!(error instanceof ApiError) || error.problem.code !== "outdated") throw error;
        this.outdated(await this.door.version());
        return undefined;
      }
    });
  }

  /** The draft is published: drawing goes on from that version, with what another window saved. */
  private async begun(version: number, doc: Doc) {
    const before = this.saved;
    this.saved = doc;
    this.set({ base: version, published: doc });
    if (this.revision > 0) await this.door.drop(this.revision).catch(() => undefined);
    const left = await this.door.draft().catch(() => undefined);
    if (left) this.savedBase = left.base;
    if (left?.doc && left.revision !== this.revision)
      this.meet({ kind: "window", base: before, theirs: left.doc, by: "", number: left.revision });
    else if (left) this.revision = left.revision;
    if (this.clean()) this.settled();
    else this.later(0);
  }

  /** Throws the draft away. Undo brings it back while the page is open. */
  async discard(): Promise<void> {
    clearTimeout(this.timer);
    await this.alone(async () => {
      await this.door.drop(0);
      const newest = await this.door.version();
      const { history, published, base } = this.state;
      this.revision = 0;
      this.saved = newest.doc;
      const thrown = edit(history, newest.doc);
      // What comes back is on top of a version that came in between, not in its place.
      const since = { base: published, theirs: newest.doc };
      this.set({
        history: newest.version === base ? thrown : joined(thrown, since, newest.doc),
        base: newest.version,
        published: newest.doc,
        clash: undefined,
        saving: "saving",
      });
      this.settled();
    });
  }

  /** Another version was published from here, by restoring an old one. */
  async restarted(): Promise<void> {
    const newest = await this.door.version();
    if (sameDoc(this.doc, this.state.published)) {
      this.set({ base: newest.version, published: newest.doc });
      if (this.revision === 0) this.saved = newest.doc;
      this.change(newest.doc);
    } else this.outdated(newest);
  }
}

/** A history in which they drew meanwhile: what is gone back to has what they did. */
function joined(history: History<Doc>, both: Pick<Clash, "base" | "theirs">, next: Doc) {
  return join(history, next, (old: Doc) => rebase(both.base, old, both.theirs));
}
