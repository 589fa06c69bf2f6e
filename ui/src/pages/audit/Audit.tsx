import { keepPreviousData, useInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ask, client } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formatAgo } from "@/components/time";
import { useDebounced } from "@/components/useDebounced";
import { formTexts } from "@/forms/formTexts";
import { auditTexts as t } from "@/pages/audit/auditTexts";
import { texts } from "@/texts";
import { AuditFilters } from "./AuditFilters";
import { Chain, Export, Verify } from "./ChainCheck";
import { Entries } from "./Entries";
import { type AuditSearch, auditQuery } from "./search";
import { UnloadedEntry } from "./UnloadedEntry";

const route = getRouteApi("/app/audit");

/** Who did what, newest first, and the proof that nothing is missing. */
export function Audit() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { open, ...filters } = search;
  // Typed letter by letter; asked for once it stays.
  const wanted = useDebounced(JSON.stringify(filters), 300);
  const query = useEntries(JSON.parse(wanted));
  const set = (change: AuditSearch) =>
    void navigate({ to: ".", search: (before) => ({ ...before, ...change }), replace: true });
  const entries = query.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <div className="end row">
          {person.role === "admin" ? <Verify /> : null}
          <Export search={filters} />
        </div>
      </Top>
      <AuditFilters search={filters} set={set} />
      {person.role === "admin" ? <Chain /> : null}
      <div className="body tblf" aria-busy={query.isPending || query.isPlaceholderData}>
        {open && query.data && !query.isPlaceholderData ? (
          <UnloadedEntry key={wanted} open={open} entries={entries} query={query} />
        ) : null}
        <Unread query={query} />
        {query.isPending ? <Skeletons count={14} /> : null}
        {query.data && entries.length === 0 ? (
          filtered ? (
            <EmptyState
              title={t.noMatchTitle}
              act={
                <Button act={t.clear} onClick={() => void navigate({ to: ".", search: {} })}>
                  {t.clear}
                </Button>
              }
            >
              {formTexts.noMatch(said(filters))}
            </EmptyState>
          ) : (
            <EmptyState title={t.emptyTitle}>{t.empty}</EmptyState>
          )
        ) : null}
        {entries.length > 0 ? (
          <Entries
            entries={entries}
            open={open}
            setOpen={(id) => set({ open: id })}
            admin={person.role === "admin"}
          />
        ) : null}
        {query.hasNextPage && !query.isPlaceholderData ? (
          <div className="p-4">
            <Button
              busy={query.isFetchingNextPage && t.moreBusy}
              onClick={() => void query.fetchNextPage()}
            >
              {t.more}
            </Button>
          </div>
        ) : null}
      </div>
      <footer className="foot">
        {query.data ? <span>{t.shown(entries.length, !query.hasNextPage)}</span> : null}
        <span className="end row hide-m">
          <kbd>J</kbd>
          <kbd>K</kbd> {t.keys.move} <kbd>Enter</kbd> {t.keys.open} <kbd>[</kbd>
          <kbd>]</kbd> {t.keys.day}
        </span>
        {person.role === "admin" ? null : <span>{t.onlyYours}</span>}
      </footer>
    </>
  );
}

/** What could not be read: the list, or only what is older than what is shown. */
function Unread({ query }: { query: ReturnType<typeof useEntries> }) {
  if (!query.isError) return null;
  const older = query.isFetchNextPageError;
  return (
    <ErrorState
      what={older ? t.olderUnread : t.unread}
      error={query.error}
      retry={() => void (older ? query.fetchNextPage() : query.refetch())}
      stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
    />
  );
}

function useEntries(filters: AuditSearch) {
  return useInfiniteQuery({
    queryKey: ["audit", filters],
    queryFn: ({ pageParam }) =>
      ask(
        client.GET("/api/v1/audit", {
          params: { query: { ...auditQuery(filters), limit: 100, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
}

function said(filters: AuditSearch): string {
  const words: [string, string | undefined][] = [
    [t.who, filters.who],
    [t.what, filters.what],
    [t.on, filters.on],
    [t.result, filters.result && (t.results[filters.result] ?? filters.result)],
    [t.since, filters.since],
    [t.until, filters.until],
  ];
  return words
    .filter(([, value]) => value)
    .map(([word, value]) => `${word} ${value}`)
    .join(", ");
}
