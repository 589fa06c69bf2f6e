import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { StatusMark } from "@/components/Status";
import { auditTexts as t } from "@/pages/audit/auditTexts";
import { isOlder } from "./search";

type Entry = Schemas["AuditEntry"];
type Query = UseInfiniteQueryResult<InfiniteData<Schemas["AuditList"]>>;
type Props = { open: string; entries: Entry[]; query: Query };

/**
 * Shown when a link points to an entry that is not loaded yet; loads back to it on request. Give it
 * the query as its React key, so that it resets when the filters change.
 */
export function UnloadedEntry({ open, entries, query }: Props) {
  const seek = useSeek(open, query);
  if (entries.some((one) => one.id === open)) return null;
  const older = query.hasNextPage && isOlder(open, entries);
  return (
    <div className="row wrap px-4 py-2" role="status">
      <StatusMark state={seek.failed ? "failed" : "unknown"}>
        {seek.failed ? t.seekFailed : older ? t.older : t.absent}
      </StatusMark>
      {older ? (
        <Button act={t.seek} small busy={seek.busy && t.seeking} onClick={() => void seek.start()}>
          {t.seek}
        </Button>
      ) : null}
    </div>
  );
}

/**
 * Loads pages until the entry is found, the list ends, a request fails, or the component unmounts.
 */
function useSeek(open: string, query: Query) {
  const wanted = useRef<string>(undefined);
  const [state, setState] = useState<"busy" | "failed">();
  useEffect(() => {
    wanted.current = open;
    setState(undefined);
    return () => {
      wanted.current = undefined;
    };
  }, [open]);
  const start = async () => {
    setState("busy");
    try {
      for (let more = true; more && wanted.current === open; ) {
        // Without throwOnError a refusal is an answer without a new page: it would be asked for for ever.
        const { data, hasNextPage } = await query.fetchNextPage({ throwOnError: true });
        more = hasNextPage && isOlder(open, data?.pages.flatMap((page) => page.items) ?? []);
      }
      if (wanted.current === open) setState(undefined);
    } catch {
      if (wanted.current === open) setState("failed");
    }
  };
  return { start, busy: state === "busy", failed: state === "failed" };
}
