import { Menu as MenuIcon } from "lucide-react";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { isNotFound, isSignedOut } from "@/api/client";
import type { LiveState } from "@/api/live";
import { texts } from "@/texts";
import { LackLine } from "./lack";
import { useNow } from "./Time";
import { formatDuration } from "./time";

/** Whether the page is up to date with the server, and how far it lags. */
export function LiveBadge({ state, className }: { state: LiveState; className?: string }) {
  const now = useNow();
  const late = Math.max(1000, now - state.since);
  const age = late < 60_000 ? `${Math.round(late / 1000)} ${texts.time.s}` : formatDuration(late);
  const { kind, error } = state;
  const word =
    kind === "behind" ? texts.live.behind(age) : texts.live[kind === "out" ? whyOut(error) : kind];
  return (
    <span className={`live ${className ?? ""}`} data-live={kind}>
      {word}
    </span>
  );
}

/** What was given up was refused: for want of a session, of access, or of the thing itself. */
function whyOut(error: unknown): "out" | "barred" | "gone" {
  if (!error || isSignedOut(error)) return "out";
  return isNotFound(error) ? "gone" : "barred";
}

/** Sets the document's title while the page is shown: the state first, then the name. */
export function useTitle(...parts: string[]) {
  const title = [...parts, texts.product].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const FIELDS = "input, textarea, select, [contenteditable], [role=menu], [role=listbox]";

const OFF = "nullops.keys";

/** Whether the user switched single-key shortcuts off; assistive software may need these keys. */
export function areKeysOff(): boolean {
  try {
    return localStorage.getItem(OFF) === "off";
  } catch {
    return false;
  }
}

export function setKeysOff(off: boolean) {
  try {
    if (off) localStorage.setItem(OFF, "off");
    else localStorage.removeItem(OFF);
  } catch {
    // Storage is off: they stay as they are.
  }
}

/**
 * Whether shortcuts ignore a key: in fields, under sheets, with a modifier, or switched off. With a
 * terminal open all are ignored, since a person who keeps typing after its connection is lost means
 * the terminal.
 */
export function ignoresKey(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.defaultPrevented ||
    target.closest?.(FIELDS) !== null ||
    document.querySelector("[role=dialog], [role=menu], [data-terminal]") !== null ||
    areKeysOff()
  );
}

/** Single keys of a page. They are off in fields, under sheets and menus, and with a modifier. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (ignoresKey(event)) return;
      const run = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!run) return;
      event.preventDefault();
      run(event);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}

/** Opens the sidebar on a phone; set by the frame around the pages. */
export const OpenMenu = createContext<() => void>(() => {});

/** The bar above a page, and the line of what is not this person's to do there. */
export function Top({ children }: { children: ReactNode }) {
  const open = useContext(OpenMenu);
  return (
    <>
      <header className="top">
        <button
          type="button"
          className="btn ghost ic only-m"
          aria-label={texts.menu}
          onClick={open}
        >
          <MenuIcon className="i" aria-hidden="true" />
        </button>
        {children}
      </header>
      <LackLine />
    </>
  );
}

/** Whether the window is narrower than a measure in px, kept up to date. */
export function useNarrow(width: number): boolean {
  const query = `(width < ${width}px)`;
  const [narrow, setNarrow] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const list = window.matchMedia(query);
    const change = () => setNarrow(list.matches);
    change();
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [query]);
  return narrow;
}
