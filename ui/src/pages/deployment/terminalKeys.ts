/** What a key in a terminal is: for the shell, for leaving it, or for the page around it. */
export type KeyFor = "shell" | "leave" | "page";

type Key = Pick<KeyboardEvent, "type" | "key" | "ctrlKey" | "shiftKey" | "altKey" | "metaKey">;

/**
 * A shell has use for nearly every key, Tab among them, so there is one that leads out: Ctrl Shift X,
 * which no browser keeps for itself and no shell can tell from Ctrl X. Once the command has ended,
 * Tab moves on as it does anywhere.
 */
export function keyFor(event: Key, ended: boolean): KeyFor {
  const { key, ctrlKey, shiftKey, altKey, metaKey } = event;
  if (ctrlKey && shiftKey && !altKey && !metaKey && key.toLowerCase() === "x") return "leave";
  return ended && key === "Tab" ? "page" : "shell";
}
