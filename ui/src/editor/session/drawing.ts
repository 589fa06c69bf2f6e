import type { Doc } from "../model/document";
import type { DraftConflict } from "./conflict";
import { edit, type History, redo, undo } from "./history";

export type State = {
  history: History<Doc>;
  /** The version that is drawn on, and what it looks like. */
  base: number;
  published: Doc;
  saving: "saved" | "waiting" | "saving" | "offline" | "refused";
  savedAt?: number;
  why?: string;
  clash?: DraftConflict;
  /** What is not saved could not be kept in this browser either. */
  unkept?: boolean;
  /** A version that somebody published since, which nothing drawn here waits for. */
  newer?: { version: number; by: string };
  /** What a merge renamed last, by the names that were drawn. */
  renamed?: Map<string, string>;
};

/** After so long without an edit, in ms, what is typed next is another one to undo. */
const PAUSE = 2_000;

/** What a window draws, and who wants to know of it. */
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

  /** Edits of one kind, one soon after the other, are one to undo. */
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
    this.drawn();
  }

  /** Something else is drawn than a moment ago. */
  protected abstract drawn(): void;
}
