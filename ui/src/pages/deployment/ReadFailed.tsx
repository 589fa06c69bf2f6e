import type { UseQueryResult } from "@tanstack/react-query";
import { ErrorState } from "@/components/States";
import { formatAgo } from "@/components/time";
import { texts } from "@/texts";

type Props = {
  what: string;
  query: Pick<UseQueryResult, "isError" | "error" | "data" | "dataUpdatedAt" | "refetch">;
};

/** What could not be read, above what was read before: that stays, with its age. */
export function ReadFailed({ what, query }: Props) {
  if (!query.isError) return null;
  const known = query.data !== undefined;
  return (
    <ErrorState
      what={what}
      error={query.error}
      retry={() => void query.refetch()}
      stale={known ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
    />
  );
}
