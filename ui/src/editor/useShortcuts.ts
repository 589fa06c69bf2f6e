import { useEffect, useRef } from "react";

export type Acts = {
  find: () => void;
  fit: () => void;
  tidy: () => void;
  undo: () => void;
  redo: () => void;
  all: () => void;
  remove: () => void;
  duplicate: () => void;
  open: () => void;
  connect: () => void;
  problem: () => void;
  save: () => void;
  publish: () => void;
  escape: () => void;
  /** What is copied; undefined lets the browser copy what is marked. */
  copied: () => string | undefined;
  pasted: (text: string) => void;
};

const FIELDS = "input, textarea, select, [contenteditable]";

/** Keys and clipboard of the editor. In fields they are the field's; under sheets they are off. */
export function useShortcuts(acts: Acts) {
  const now = useRef(acts);
  now.current = acts;
  useEffect(() => {
    const off = (event: Event) =>
      event.defaultPrevented || document.querySelector("[role=dialog], [role=menu]") !== null;
    const inField = (event: Event) =>
      event.target instanceof Element && event.target.closest(FIELDS) !== null;
    const press = (event: KeyboardEvent) => {
      if (off(event)) return;
      const act = actOf(event, inField(event));
      if (!act) return;
      event.preventDefault();
      now.current[act]();
    };
    const copy = (event: ClipboardEvent) => {
      if (off(event) || inField(event) || String(window.getSelection() ?? "") !== "") return;
      const text = now.current.copied();
      if (text === undefined) return;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
    };
    const paste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData("text/plain");
      if (off(event) || inField(event) || !text) return;
      event.preventDefault();
      now.current.pasted(text);
    };
    window.addEventListener("keydown", press);
    document.addEventListener("copy", copy);
    document.addEventListener("paste", paste);
    return () => {
      window.removeEventListener("keydown", press);
      document.removeEventListener("copy", copy);
      document.removeEventListener("paste", paste);
    };
  }, []);
}

type Act = Exclude<keyof Acts, "copied" | "pasted">;

function actOf(event: KeyboardEvent, field: boolean): Act | undefined {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) {
    if (key === "s") return "save";
    if (key === "Enter") return "publish";
    if (field) return undefined;
    if (key === "z") return event.shiftKey ? "redo" : "undo";
    return ({ y: "redo", a: "all", d: "duplicate" } as const)[key];
  }
  if (key === "F8") return "problem";
  if (field || event.altKey) return undefined;
  if (key === "f") return event.shiftKey ? "tidy" : "fit";
  if (key === "Enter") {
    const node = event.target instanceof Element && event.target.closest(".react-flow__node");
    return node ? "open" : undefined;
  }
  const keys: Record<string, Act> = {
    a: "find",
    p: "connect",
    Delete: "remove",
    Backspace: "remove",
    Escape: "escape",
  };
  return keys[key];
}
