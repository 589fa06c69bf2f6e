/** What the audit page shows; all of it is in the address. */
export type AuditSearch = {
  who?: string;
  what?: string;
  on?: string;
  result?: "ok" | "refused" | "failed";
  /** Days as a person writes them, 2026-11-22; the second one is included. */
  since?: string;
  until?: string;
  open?: string;
};

export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  const text = (value: unknown) => {
    const said = typeof value === "number" ? String(value) : value;
    return typeof said === "string" && said !== "" ? said.slice(0, 200) : undefined;
  };
  const day = (value: unknown) =>
    /^\d{4}-\d\d-\d\d$/.test(String(value)) ? String(value) : undefined;
  const result = text(search.result);
  return {
    who: text(search.who),
    what: text(search.what),
    on: text(search.on),
    result: result === "ok" || result === "refused" || result === "failed" ? result : undefined,
    since: day(search.since),
    until: day(search.until),
    open: text(search.open),
  };
}

/** The same as the API asks for it; days are those of the person's own clock. */
export function auditQuery({ who, what, on, result, since, until }: AuditSearch) {
  return {
    actor: who?.trim(),
    // Actions are written small; a phone's keyboard begins with a capital.
    action: what?.trimStart().toLowerCase(),
    object: on,
    result,
    since: since ? new Date(`${since}T00:00:00`).toISOString() : undefined,
    until: until ? dayAfter(until).toISOString() : undefined,
  };
}

function dayAfter(day: string): Date {
  const date = new Date(`${day}T00:00:00`);
  date.setDate(date.getDate() + 1);
  return date;
}

/** The address of the same entries as a file. */
export function exportAddress(search: AuditSearch, format: "csv" | "jsonl"): string {
  const query = new URLSearchParams({ format });
  for (const [key, value] of Object.entries(auditQuery(search))) if (value) query.set(key, value);
  return `/api/v1/audit/export?${query}`;
}

/** Whether an entry is older than all these, newest first; their ids are their places in the list. */
export function isOlder(id: string, entries: { id: string }[]): boolean {
  const last = entries.at(-1);
  return last === undefined || Number(id) < Number(last.id);
}
