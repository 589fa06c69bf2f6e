// Whose eyes an admin looks through. It is this tab's alone, and ends with it.

const KEY = "nullops.view-as";

/** The user everything is seen as, if any. */
export function viewedName(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The header that goes with every request while somebody's eyes are looked through. */
export function viewingHeaders(): Record<string, string> {
  const name = viewedName();
  return name ? viewAsHeader(name) : {};
}

/** The header that asks through somebody's eyes, for one request too. */
export const viewAsHeader = (name: string) => ({ "X-Nullops-View-As": name });

/** A fresh page follows: nothing that was read before stays in memory. */
export function viewAs(name: string | undefined) {
  try {
    if (name) sessionStorage.setItem(KEY, name);
    else sessionStorage.removeItem(KEY);
  } catch {
    return;
  }
  window.location.assign("/deployments");
}
