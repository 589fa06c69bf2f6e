import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type ask, isNotFound } from "@/api/client";
import { Sheet } from "@/components/Overlay";
import { ErrorState, Skeletons } from "@/components/States";
import { formTexts as t } from "@/forms/formTexts";
import type { Opened } from "./conflict";
import { readTagged } from "./etag";
import { MissingEntry } from "./MissingEntry";
import { Shown, toDocumentKind } from "./Origin";

type Props<T> = {
  /** The kind of thing, in the plural: where it is kept in the cache. */
  kind: string;
  name: string;
  read: () => Parameters<typeof ask<T>>[0];
  close: () => void;
  children: (opened: Opened<T>) => ReactNode;
};

/**
 * Loads an object with its ETag before its form opens. The data is not refreshed while the form is
 * open; after a conflict the form calls `again`.
 */
export function LoadStored<T>({ kind, name, read, close, children }: Props<T>) {
  const query = useQuery({
    queryKey: ["opened", kind, name],
    queryFn: () => readTagged(read()),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnReconnect: false,
  });
  if (query.data) {
    const document = toDocumentKind(kind);
    return (
      <Shown value={document && { kind: document, name }}>
        {children({ ...query.data, again: () => readTagged(read()) })}
      </Shown>
    );
  }
  if (isNotFound(query.error)) return <MissingEntry name={name} close={close} />;
  return (
    <Sheet open narrow waits onClose={close} title={name}>
      <div className="grow" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={t.objectUnread}
            error={query.error}
            retry={() => void query.refetch()}
          />
        ) : (
          <Skeletons count={6} />
        )}
      </div>
    </Sheet>
  );
}
