import { plural } from "@/plural";

// What the audit page says.

export const auditTexts = {
  title: "Audit",
  unread: "The audit could not be read.",
  olderUnread: "What is older could not be read.",
  emptyTitle: "Nothing was done yet",
  empty: "Every change, every refusal and every use of secrets is recorded here.",
  noMatchTitle: "No entry matches",
  who: "Who",
  whoHint: "user, or system:task",
  what: "What",
  whatHint: "put service, sign in…",
  on: "On",
  onHint: "part of its name",
  result: "Result",
  anyResult: "Every result",
  results: { ok: "done", refused: "refused", failed: "failed" } as Record<string, string>,
  since: "From",
  until: "To",
  columns: { at: "When", who: "Who", what: "What", on: "On", result: "Result", from: "From" },
  clear: "Clear the filters",
  onlyYours: "You see your own actions, and actions on objects that you have access to.",
  more: "Show older",
  moreBusy: "Reading…",
  shown: (count: number, all: boolean) =>
    all ? plural(count, "entry", "entries") : `the newest ${plural(count, "entry", "entries")}`,
  csv: "CSV",
  jsonl: "JSON lines",
  export: "Export",
  exporting: "Exporting…",
  unexported: "The file could not be made.",
  exportAs: (format: string) => `Export as ${format}`,
  verify: "Check the chain",
  verifying: "Checking…",
  unchecked: "The chain has not been checked in this tab yet.",
  whole: (at: string, entries: number) =>
    `Chain whole, checked ${at} (${plural(entries, "entry", "entries")})`,
  copyLink: "the newest link",
  broken: (at: string, findings: { seq: number; problem: string }[]) => {
    const [first] = findings;
    const said = first ? `Entry ${first.seq.toLocaleString("en")}: ${first.problem}.` : "";
    const more = findings.length > 1 ? `${plural(findings.length, "finding")} in all,` : "";
    return [`Chain broken.`, said, more, more ? `checked ${at}.` : `Checked ${at}.`]
      .filter(Boolean)
      .join(" ");
  },
  unverified: "The chain could not be checked.",
  details: {
    detail: "Detail",
    request: "Request",
    seq: "Place in the chain",
    from: "Came from",
    credential: "Done with",
    exact: "Exact time",
  },
  more2: (what: string) => `Details of ${what}`,
  keys: { move: "move", open: "details", day: "a day back or on" },
  older: "The linked entry is older than these.",
  seek: "Read back to it",
  seeking: "Reading…",
  seekFailed: "Reading back to it stopped.",
  absent: "The linked entry is not among these.",
};
