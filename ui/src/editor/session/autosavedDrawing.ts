import { ApiError } from "@/api/client";
import { type Doc, sameDoc } from "../model/document";
import { Drawing, type State } from "./drawing";
import type { LocalDrafts } from "./localDraft";
import type { DraftApi } from "./serverDraft";

/** An unsaved edit waits at most this many save delays, even while more edits arrive. */
const PATIENCE = 5;

/** Wait before the next try when the server does not answer, or names no Retry-After, in ms. */
const SILENCE = 5_000;

/**
 * A drawing that saves itself, with If-Match on the revision that it knows. What cannot be saved
 * stays in this browser.
 */
export abstract class AutosavedDrawing extends Drawing {
  protected revision: number;
  /** The draft on the server, or the published version when there is no draft. */
  protected saved: Doc;
  /** The version that the server's draft is based on. */
  protected savedBase: number;
  protected closed = false;
  protected timer?: ReturnType<typeof setTimeout>;
  /** Deadline for saving the oldest unsaved edit, even while the person still types. */
  private due?: number;
  protected running?: Promise<void>;

  protected constructor(
    protected door: DraftApi,
    protected keep: LocalDrafts,
    /** Delay between an edit and its save, in ms. */
    protected wait: number,
    first: { state: State; saved: Doc; revision: number },
  ) {
    super(first.state);
    this.saved = first.saved;
    this.savedBase = first.state.base;
    this.revision = first.revision;
  }

  protected scheduleEdit() {
    this.due ??= Date.now() + PATIENCE * this.wait;
    this.scheduleSave(Math.min(this.wait, Math.max(0, this.due - Date.now())));
  }

  protected scheduleSave(ms: number) {
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

  protected isClean(): boolean {
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
    if (this.isClean()) return this.markSaved();
    await this.runAlone(() => this.save());
    if (this.state.saving === "saving") await this.flush();
  }

  /** Requests run one at a time, since each needs the revision that the previous one returned. */
  protected async runAlone<T>(work: () => Promise<T>): Promise<T> {
    while (this.running) await this.running;
    const done = work();
    const over = () => {
      this.running = undefined;
    };
    this.running = done.then(over, over);
    return done;
  }

  protected async save() {
    const { doc } = this;
    const { base } = this.state;
    this.set({ saving: "saving" });
    try {
      const { revision } = await this.door.save(doc, base, this.revision);
      this.revision = revision;
      this.saved = doc;
      this.savedBase = base;
      if (this.isClean()) this.markSaved();
    } catch (error) {
      await this.handleRefusal(error);
    }
  }

  protected markSaved() {
    this.keep.write(undefined);
    if (this.state.saving !== "saved")
      this.set({ saving: "saved", savedAt: Date.now(), why: undefined, unkept: false });
  }

  protected async handleRefusal(error: unknown) {
    if (!(error instanceof ApiError) || error.status >= 500)
      return this.retryLater("offline", error);
    // Rate limit or timeout: about this request, not about the document.
    if (error.status === 429 || error.status === 408) return this.retryLater("waiting", error);
    if (error.problem.code !== "draft_changed") {
      this.keepHere();
      this.set({ saving: "refused", why: error.message });
      return;
    }
    await this.joinServer().catch((why) => this.retryLater("offline", why));
  }

  /** Tries again, but not before the server's Retry-After. */
  protected retryLater(saving: "offline" | "waiting", error: unknown) {
    this.keepHere();
    this.set({ saving });
    const wanted = error instanceof ApiError ? error.retryAfter : undefined;
    this.scheduleSave(Math.max(this.wait, wanted === undefined ? SILENCE : wanted * 1000));
  }

  /** Stores unsaved edits in this browser. Returns false if the browser refused. */
  keepHere(): boolean {
    const { doc, saved, revision } = this;
    const { base, unkept = false } = this.state;
    const kept = this.isClean() || this.keep.write({ doc, saved, base, revision });
    if (kept === unkept) this.set({ unkept: !kept });
    return kept;
  }

  /** Called when another window saved first. */
  protected abstract joinServer(): Promise<void>;
}
