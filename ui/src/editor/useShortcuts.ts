import { useEffect, useRef } from "react";
import { areKeysOff } from "@/components/Shell";

export type Acts = {
  find: () => void;
  fit: () => void;
  tidy: () => void;
  undo: () => void;
  redo: () => void;
  all: () => void;
  remove: () => void;
  /** Moves what is chosen: the key says where to. */
  move: (event: KeyboardEvent) => void;
  group: () => void;
  search: () => void;
  duplicate: () => void;
  open: () => void;
  connect: () => void;
  problem: () => void;
  save: () => void;
  publish: () => void;
  escape: () => void;
  /** From step to step, and from the inspector to the step that it shows. */
  next: () => void;
  previous: () => void;
  back: () => void;
  /** What is copied; undefined lets the browser copy what is marked. */
  copied: () => string | undefined;
  pasted: (text: string) => void;
};

const FIELDS = "input, textarea, select, [contenteditable]";
const OVER = "[role=dialog], [role=alertdialog], [role=menu], [role=listbox]";
/** Where arrow keys have a meaning of their own. */
const OWN_ARROWS = "[role=tab], [role=tabpanel], [role=slider], .steplist, summary";

/** Keys and clipboard of the editor. In fields they are the field's; under sheets they are off. */
export function useShortcuts(acts: Acts) {
  const now = useRef(acts);
  now.current = acts;
  useEffect(() => {
    const off = (event: Event) => event.defaultPrevented || document.querySelector(OVER) !== null;
    const press = (event: KeyboardEvent) => {
      if (off(event)) return;
      const act = actOf(event);
      if (!act) return;
      event.preventDefault();
      if (act === "save" || act === "publish") settle(now.current[act]);
      else now.current[act](event);
    };
    const copy = (event: ClipboardEvent) => {
      if (off(event) || inField(event) || String(window.getSelection() ?? "") !== "") return;
      const text = now.current.copied();
      if (text === undefined) return;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
      if (event.type === "cut") now.current.remove();
    };
    const paste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData("text/plain");
      if (off(event) || inField(event) || !text) return;
      event.preventDefault();
      now.current.pasted(text);
    };
    window.addEventListener("keydown", press);
    document.addEventListener("copy", copy);
    document.addEventListener("cut", copy);
    document.addEventListener("paste", paste);
    return () => {
      window.removeEventListener("keydown", press);
      document.removeEventListener("copy", copy);
      document.removeEventListener("cut", copy);
      document.removeEventListener("paste", paste);
    };
  }, []);
}

/** What is typed is taken by some fields when they are left: they are, for a moment, before an act. */
function settle(act: () => void) {
  const field = document.activeElement;
  if (!(field instanceof HTMLElement) || !field.matches(FIELDS)) return act();
  field.blur();
  setTimeout(() => {
    act();
    field.focus();
  });
}

function inside(event: Event, what: string): boolean {
  return event.target instanceof Element && event.target.closest(what) !== null;
}

function inField(event: Event): boolean {
  return inside(event, FIELDS);
}

type Act = Exclude<keyof Acts, "copied" | "pasted">;

/** The act a key stands for where the focus is. */
export function actOf(event: KeyboardEvent): Act | undefined {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const field = inField(event);
  if (event.ctrlKey || event.metaKey) {
    if (key === "s") return "save";
    if (key === "f") return "search";
    if (key === "Enter") return "publish";
    if (field) return undefined;
    if (key === "z") return event.shiftKey ? "redo" : "undo";
    return ({ y: "redo", a: "all", d: "duplicate", g: "group" } as const)[key];
  }
  const canvas = inside(event, ".cv");
  // Who switched the single keys off has them where the focus asks for them.
  if (areKeysOff() && !canvas) return undefined;
  if (key === "F8") return "problem";
  if (key === "Escape" && inside(event, ".insp")) return "back";
  if (field || event.altKey) return undefined;
  if (key === "Enter") return inside(event, ".react-flow__node") ? "open" : undefined;
  if (key === "Escape") return "escape";
  // They act on what is chosen, wherever the focus is; going back is what Backspace also means.
  if (key === "Delete") return "remove";
  if (key === "Backspace") return canvas || event.target === document.body ? "remove" : undefined;
  if (key.startsWith("Arrow")) return inside(event, OWN_ARROWS) ? undefined : "move";
  if (areKeysOff()) return undefined;
  if (key === "f") return event.shiftKey ? "tidy" : "fit";
  return ({ a: "find", p: "connect", j: "next", k: "previous" } as const)[key];
}
