import { useInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { adminTexts } from "@/adminTexts";
import { ask, client } from "@/api/client";
import { me } from "@/api/queries/common";
import { auditTexts as t } from "@/auditTexts";
import { Button } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { AuditFilters } from "./AuditFilters";
import { Entries } from "./Entries";
import { type AuditSearch, auditQuery } from "./search";
import { Chain, Export } from "./Whole";

const route = getRouteApi("/app/audit");

/** Who did what, newest first, and the proof that nothing is missing. */
export function Audit() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { open, ...filters } = search;
  const query = useEntries(filters);
  const set = (change: AuditSearch) =>
    void navigate({ to: ".", search: (before) => ({ ...before, ...change }), replace: true });
  const entries = query.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <div className="end row">
          {person.role === "admin" ? <Chain /> : null}
          <Export search={filters} />
        </div>
      </Top>
      <AuditFilters search={filters} set={set} />
      <div className="body tblf" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
        ) : null}
        {query.isPending ? <Skeletons count={14} /> : null}
        {query.isSuccess && entries.length === 0 ? (
          filtered ? (
            <EmptyState
              title={t.noMatchTitle}
              act={
                <Button onClick={() => void navigate({ to: ".", search: {} })}>{t.clear}</Button>
              }
            >
              {adminTexts.noMatch(said(filters))}
            </EmptyState>
          ) : (
            <EmptyState title={t.emptyTitle}>{t.empty}</EmptyState>
          )
        ) : null}
        {entries.length > 0 ? (
          <Entries entries={entries} open={open} setOpen={(id) => set({ open: id })} />
        ) : null}
        {query.hasNextPage ? (
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
        {person.role === "admin" ? null : <span className="end">{t.onlyYours}</span>}
      </footer>
    </>
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
