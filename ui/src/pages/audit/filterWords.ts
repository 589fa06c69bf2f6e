import { queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";

type Entry = Schemas["AuditEntry"];

/** What the newest entries that a person may see are about, for the filters to offer. */
export const newest = queryOptions({
  queryKey: ["audit-words"],
  queryFn: async () =>
    (await ask(client.GET("/api/v1/audit", { params: { query: { limit: 500 } } }))).items,
  staleTime: 60_000,
});

export type Words = { who: string[]; what: string[]; on: string[] };

/** Longer lists are not read by anybody, and slow a browser's own list down. */
const MOST = 200;

/** Each word once, in the alphabet's order; the newest ones when there are too many. */
export function wordsOf(entries: Entry[], users: string[]): Words {
  const words = (all: string[]) => [...new Set(all)].slice(0, MOST).sort();
  return {
    who: words([...entries.map((one) => one.actor), ...users]),
    what: words(entries.map((one) => one.action)),
    on: words(entries.map((one) => one.object).filter(Boolean)),
  };
}
