import type { UseQueryResult } from "@tanstack/react-query";
import { useSuspenseQuery } from "@tanstack/react-query";
import type { Deployment } from "@/api/client";
import { me } from "@/api/queries/common";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formatAgo } from "@/components/time";
import { texts } from "@/texts";
import { CreateLink } from "./CreateLink";
import type { Filters } from "./filters";
import { List } from "./List";
import { NoMatch } from "./NoMatch";

type Props = {
  query: UseQueryResult<Deployment[]>;
  shown: Deployment[];
  filters: Filters;
  clear: () => void;
};

/** What runs, or is on its way, in all states of reading it. */
export function PresentList({ query, shown, filters, clear }: Props) {
  const all = query.data;
  return (
    <div className="body" aria-busy={query.isPending}>
      {query.isError ? (
        <ErrorState
          what={texts.list.unread}
          error={query.error}
          retry={() => void query.refetch()}
          stale={all ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
        />
      ) : null}
      {query.isPending ? <Skeletons count={12} /> : null}
      {all && shown.length > 0 ? <List rows={shown} filters={filters} /> : null}
      {all && all.length === 0 ? <Nothing filters={filters} /> : null}
      {all && all.length > 0 && shown.length === 0 ? (
        <NoMatch filters={filters} clear={clear} />
      ) : null}
    </div>
  );
}

function Nothing({ filters }: { filters: Filters }) {
  const { data: person } = useSuspenseQuery(me);
  const allowed = person.can_create;
  return (
    <EmptyState
      title={texts.list.emptyTitle}
      act={allowed ? <CreateLink filters={filters} /> : undefined}
    >
      {allowed ? texts.list.empty : texts.list.emptyRead}
    </EmptyState>
  );
}
