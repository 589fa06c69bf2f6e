// Whose eyes an admin looks through. It is this tab's alone, and ends with it.

const KEY = "nullops.view-as";

/** The user whose view an admin has chosen, if any. */
export function viewedName(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The header of every request while an admin views as another user. */
export function viewingHeaders(): Record<string, string> {
  const name = viewedName();
  return name ? viewAsHeader(name) : {};
}

/** The header that makes a request as another user sees it. */
export const viewAsHeader = (name: string) => ({ "X-Nullops-View-As": name });

/** Reloads the page, so that no data of the previous view stays in memory. */
export function viewAs(name: string | undefined) {
  try {
    if (name) sessionStorage.setItem(KEY, name);
    else sessionStorage.removeItem(KEY);
  } catch {
    return;
  }
  window.location.assign("/deployments");
}
