const KEY = "nullops.start";

/** Whether a person said that the guide need not be offered any more. */
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
