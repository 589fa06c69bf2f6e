const KEY = "nullops.recent";
const MOST = 5;

/** The ids of what was chosen in the palette last, newest first. Kept in this browser only. */
export function recentCommands(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.map(String).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function rememberCommand(id: string) {
  try {
    const list = [id, ...recentCommands().filter((one) => one !== id)].slice(0, MOST);
    localStorage.setItem(KEY, JSON.stringify(list));
  } catch {
    // Storage is off: nothing is recent then.
  }
}
