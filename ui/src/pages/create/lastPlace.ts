import type { Deployment } from "@/api/client";

const KEY = "nullops.place";

/** Where a deployment was made last. */
export type Place = { project?: string; environment?: string };

/** Kept in this browser only: it is a suggestion, and worth no row in a database. */
export function lastPlace(): Place {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Place) : {};
  } catch {
    return {};
  }
}

export function rememberPlace({ project, environment }: Deployment) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ project, environment }));
  } catch {
    // Storage is off: the next one begins as the first one did.
  }
}
