import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Deployment } from "@/api/client";
import { ENDED_STATES } from "@/api/deploymentState";
import { records } from "@/api/queries/deployments";
import { useDebounced } from "@/components/useDebounced";
import type { Filters } from "./filters";

/** What the filters ask of the API; nothing where no record can be in the state that is wanted. */
export function askedOf({ env, project, state, q }: Filters) {
  const status = ENDED_STATES.filter((one) => !state || one === state);
  if (status.length === 0) return undefined;
  // The API takes no longer search.
  return { environment: env, project, search: q?.slice(0, 128), status };
}

/** What runs no more, as far as it has been read; asked for only by the view that shows it. */
export function useRecords(filters: Filters) {
  const q = useDebounced(filters.q, 150);
  const asked = askedOf({ ...filters, q });
  const query = useInfiniteQuery({
    ...records(asked ?? { status: [] }),
    enabled: filters.view === "removed" && asked !== undefined,
    placeholderData: keepPreviousData,
  });
  const found = useMemo(() => query.data?.pages.flatMap((page) => page.items), [query.data]);
  // That nothing was found is the answer to what was asked before: of this one it is not known yet.
  const waits = q !== filters.q || query.isPlaceholderData;
  const known = waits && found?.length === 0 ? undefined : found;
  const rows: Deployment[] | undefined = asked ? known : [];
  const ready = query.hasNextPage && !query.isFetching && !query.isError;
  const more = ready ? () => void query.fetchNextPage() : undefined;
  return { query, rows, more };
}
