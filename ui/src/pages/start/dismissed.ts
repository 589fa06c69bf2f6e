const KEY = "nullops.start";

/** Whether the user dismissed the guide. */
export function startDismissed(): boolean {
  try {
    return localStorage.getItem(KEY) === "dismissed";
  } catch {
    return false;
  }
}

export function dismissStart() {
  try {
    localStorage.setItem(KEY, "dismissed");
  } catch {
    // Storage is off: it is offered again on the next visit.
  }
}
