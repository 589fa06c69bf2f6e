import { QueryCache, QueryClient, queryOptions } from "@tanstack/react-query";
import { ApiError, ask, client, isSignedOut } from "../client";

/** The page's cache. `signedOut` is called once a request finds that the session has ended. */
export function newQueryClient(signedOut: () => void): QueryClient {
  // A browser that says it is offline may reach this host all the same: on its own machine, or in a
  // company's network. Otherwise a click would wait without a word.
  const networkMode = "always";
  return new QueryClient({
    queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && signedOut() }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => isSilence(error) && count < 2,
        refetchOnWindowFocus: false,
        networkMode,
      },
      mutations: { networkMode },
    },
  });
}

/** A refusal is an answer; only silence, or a server in trouble, is worth asking again. */
export function isSilence(error: unknown): boolean {
  return !(error instanceof ApiError && error.status < 500);
}

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: () => ask(client.GET("/api/v1/me")),
  staleTime: 60_000,
});

/** How many pages of a list are read at most. */
export const PAGES = 20;

/** Reads all pages of a list up to a limit; `tell` is called with whether there are more. */
export async function allPages<T>(
  page: (cursor?: string) => Promise<{ items: T[]; next_cursor?: string }>,
  tell?: (more: boolean) => void,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < PAGES; count++) {
    const answer = await page(cursor);
    items.push(...answer.items);
    cursor = answer.next_cursor;
    if (!cursor) break;
  }
  tell?.(Boolean(cursor));
  return items;
}
