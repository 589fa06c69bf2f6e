import type { Doc } from "../model/document";
import type { DraftConflict } from "./conflict";
import { edit, type History, redo, undo } from "./history";

export type State = {
  history: History<Doc>;
  /** The published version that the draft is based on, and its content. */
  base: number;
  published: Doc;
  saving: "saved" | "waiting" | "saving" | "offline" | "refused";
  savedAt?: number;
  why?: string;
  clash?: DraftConflict;
  /** The unsaved edits could not be stored in this browser either. */
  unkept?: boolean;
  /** A version that somebody published meanwhile; this window has no edits that depend on it. */
  newer?: { version: number; by: string };
  /** The steps that the last merge renamed: name in this window → new name. */
  renamed?: Map<string, string>;
};

/** After this pause without an edit, in ms, the next keystroke starts a new undo entry. */
const PAUSE = 2_000;

/** The document of one window with its undo history, and its subscribers. */
export abstract class Drawing {
  private listeners = new Set<() => void>();
  private editedAt = 0;

  protected constructor(public state: State) {}

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

  protected set(next: Partial<State>) {
    this.state = { ...this.state, ...next };
    for (const listener of this.listeners) listener();
  }

  /** Edits of the same kind in quick succession are one undo entry. */
  change(next: Doc, kind?: string) {
    const now = Date.now();
    const soon = now - this.editedAt < PAUSE;
    this.editedAt = now;
    const { history } = this.state;
    this.turn(edit(soon ? history : { ...history, kind: undefined }, next, kind));
  }

  undo() {
    this.turn(undo(this.state.history));
  }

  redo() {
    this.turn(redo(this.state.history));
  }

  private turn(history: History<Doc>) {
    if (history.now === this.doc && history.past.length === this.state.history.past.length) return;
    this.set({ history, saving: "waiting", why: undefined });
    this.scheduleEdit();
  }

  /** Called after the document has changed. */
  protected abstract scheduleEdit(): void;
}
