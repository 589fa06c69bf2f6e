import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { adminTexts } from "@/adminTexts";
import { ask, client, type Schemas } from "@/api/client";
import { me } from "@/api/queries/common";
import { auditTexts as t } from "@/auditTexts";
import { Button } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { useSettled } from "@/components/useSettled";
import { AuditFilters } from "./AuditFilters";
import { Entries } from "./Entries";
import { type AuditSearch, auditQuery, isOlder } from "./search";
import { Chain, Export, Verify } from "./Whole";

type Entry = Schemas["AuditEntry"];
const route = getRouteApi("/app/audit");

/** Who did what, newest first, and the proof that nothing is missing. */
export function Audit() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { open, ...filters } = search;
  // Typed letter by letter; asked for once it stays.
  const wanted = useSettled(JSON.stringify(filters), 300);
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
        {open && query.isSuccess && !query.isPlaceholderData ? (
          <Unseen open={open} entries={entries} query={query} />
        ) : null}
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

type Query = ReturnType<typeof useEntries>;
type UnseenProps = { open: string; entries: Entry[]; query: Query };

/** A link to an entry that is not among those read so far: it is said, and read back to on request. */
function Unseen({ open, entries, query }: UnseenProps) {
  const seek = useMutation({
    mutationFn: async () => {
      for (let seen = entries; query.hasNextPage && isOlder(open, seen); ) {
        const { data, hasNextPage } = await query.fetchNextPage();
        seen = data?.pages.flatMap((page) => page.items) ?? seen;
        if (!hasNextPage) return;
      }
    },
  });
  if (entries.some((one) => one.id === open)) return null;
  const older = query.hasNextPage && isOlder(open, entries);
  return (
    <div className="row px-4 py-2" role="status">
      <StatusMark state="unknown">{older ? t.older : t.absent}</StatusMark>
      {older ? (
        <Button small busy={seek.isPending && t.seeking} onClick={() => seek.mutate()}>
          {t.seek}
        </Button>
      ) : null}
    </div>
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
