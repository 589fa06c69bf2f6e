import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formatAgo } from "@/components/time";
import { texts } from "@/texts";
import { type Filters, isNarrowed } from "./filters";
import { List } from "./List";
import { NoMatch } from "./NoMatch";
import type { useRecords } from "./useRecords";

const t = texts.list;

type Props = { records: ReturnType<typeof useRecords>; filters: Filters; clear: () => void };

/** What was removed, canceled or forgotten: each row leads to its record. */
export function RemovedList({ records, filters, clear }: Props) {
  const { query, rows, more } = records;
  const begins = query.isError && !query.isFetchNextPageError;
  return (
    <div className="body" aria-busy={!rows}>
      {begins ? (
        <ErrorState
          what={t.goneUnread}
          error={query.error}
          retry={() => void query.refetch()}
          stale={rows ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
        />
      ) : null}
      {rows || query.isError ? null : <Skeletons count={12} />}
      {rows && rows.length > 0 ? <List rows={rows} filters={filters} flat onEnd={more} /> : null}
      {query.isFetchNextPageError ? (
        <ErrorState
          what={t.goneRest}
          error={query.error}
          retry={() => void query.fetchNextPage()}
        />
      ) : null}
      {query.isFetchingNextPage ? <Skeletons count={3} /> : null}
      {rows?.length === 0 ? <None filters={filters} clear={clear} /> : null}
    </div>
  );
}

function None({ filters, clear }: Omit<Props, "records">) {
  if (isNarrowed(filters)) return <NoMatch filters={filters} clear={clear} />;
  return <EmptyState title={t.goneTitle}>{t.goneNote}</EmptyState>;
}
