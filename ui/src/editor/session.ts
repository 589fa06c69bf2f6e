import { ApiError } from "@/api/client";
import { begin, edit, type History, redo, undo } from "./history";
import { type Choices, merge, threeWay } from "./merge";
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
  publish(doc: Doc, base: number): Promise<number>;
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
  private saved: Doc;
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
    session.resume(keep.read());
    if (base !== newest.version && !session.state.clash) session.outdated(newest);
    return session;
  }

  /** What was drawn without the server, in this browser, is drawn on. */
  private resume(kept: Kept | undefined) {
    if (!kept || sameDoc(kept.doc, this.saved)) return this.keep.write(undefined);
    if (kept.revision === this.revision) {
      this.change(kept.doc);
      return;
    }
    const theirs = this.saved;
    this.set({ history: begin(kept.doc) });
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
    this.timer = setTimeout(() => void this.flush(), ms);
  }

  /** Stops saving; what is not saved yet stays in this browser. */
  close() {
    clearTimeout(this.timer);
    if (!sameDoc(this.doc, this.saved)) this.keepHere();
  }

  /** Saves now what is not saved, and waits until it is, or cannot be. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.due = undefined;
    while (this.running) await this.running;
    if (this.state.clash || sameDoc(this.doc, this.saved)) {
      if (!this.state.clash) this.settled();
      return;
    }
    this.running = this.save().finally(() => {
      this.running = undefined;
    });
    await this.running;
    if (this.state.saving === "saving") await this.flush();
  }

  private async save() {
    const doc = this.doc;
    this.set({ saving: "saving" });
    try {
      const { revision } = await this.door.save(doc, this.state.base, this.revision);
      this.revision = revision;
      this.saved = doc;
      if (sameDoc(this.doc, doc)) this.settled();
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
    if (!(error instanceof ApiError) || error.status >= 500) {
      this.keepHere();
      this.set({ saving: "offline" });
      this.later(Math.max(this.wait, 5000));
      return;
    }
    if (error.problem.code !== "draft_changed") {
      this.keepHere();
      this.set({ saving: "refused", why: error.message });
      return;
    }
    try {
      await this.join();
    } catch {
      this.keepHere();
      this.set({ saving: "offline" });
      this.later(Math.max(this.wait, 5000));
    }
  }

  private keepHere() {
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
    if (theirs.revision === 0 || theirs.base !== this.state.base || !theirs.doc) {
      // The other window published, or threw the draft away: begin from what is published now.
      const newest = await this.door.version(theirs.doc ? theirs.base : undefined);
      this.revision = theirs.revision;
      this.meet({
        kind: "published",
        base: this.state.published,
        theirs: theirs.doc ?? newest.doc,
        by: newest.by,
        number: newest.version,
        published: newest.doc,
      });
      return;
    }
    this.meet({
      kind: "window",
      base: this.saved,
      theirs: theirs.doc,
      by: "",
      number: theirs.revision,
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
    this.take(clash, {});
  }

  private take(clash: Clash, choices: Choices) {
    const next = merge(clash.base, this.doc, clash.theirs, choices);
    this.saved = clash.theirs;
    if (clash.kind === "window") this.revision = clash.number;
    const moved = clash.kind === "published" && clash.number !== this.state.base;
    this.set({
      history: edit(this.state.history, next),
      clash: undefined,
      saving: "saving",
      ...(moved ? { base: clash.number, published: clash.published ?? clash.theirs } : {}),
    });
    this.later(0);
  }

  /** A person has decided what of both stays. */
  resolve(choices: Choices) {
    const { clash } = this.state;
    if (clash) this.take(clash, choices);
  }

  private outdated(newest: Version) {
    this.set({
      clash: {
        kind: "published",
        base: this.state.published,
        theirs: newest.doc,
        by: newest.by,
        number: newest.version,
      },
    });
  }

  /** Publishes what is drawn. Undefined when somebody was faster: the clash says who. */
  async publish(): Promise<number | undefined> {
    await this.flush();
    if (this.state.clash) return undefined;
    const doc = this.doc;
    try {
      const version = await this.door.publish(doc, this.state.base);
      await this.begun(version, doc);
      return version;
    } catch (error) {
      if (!(error instanceof ApiError) || error.problem.code !== "outdated") throw error;
      this.outdated(await this.door.version());
      return undefined;
    }
  }

  /** The draft is published, or thrown away: drawing goes on from that version. */
  private async begun(version: number, doc: Doc) {
    const unchanged = sameDoc(this.doc, doc);
    this.saved = doc;
    this.set({ base: version, published: doc });
    await this.door.drop(this.revision).catch(() => undefined);
    this.revision = (await this.door.draft().catch(() => ({ revision: 0 }))).revision;
    if (unchanged) this.settled();
    else this.later(0);
  }

  /** Throws the draft away. Undo brings it back while the page is open. */
  async discard(): Promise<void> {
    clearTimeout(this.timer);
    while (this.running) await this.running;
    await this.door.drop(0);
    const newest = await this.door.version();
    this.revision = 0;
    this.saved = newest.doc;
    this.set({
      history: edit(this.state.history, newest.doc),
      base: newest.version,
      published: newest.doc,
      clash: undefined,
      saving: "saving",
    });
    this.settled();
  }

  /** Another version was published from here, by restoring an old one. */
  async restarted(): Promise<void> {
    const newest = await this.door.version();
    if (sameDoc(this.doc, this.state.published)) {
      this.set({ base: newest.version, published: newest.doc });
      this.saved = newest.doc;
      this.change(newest.doc);
    } else this.outdated(newest);
  }
}
