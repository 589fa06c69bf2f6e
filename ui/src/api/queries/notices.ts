import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "../client";
import { allPages } from "./common";

// Outgoing webhooks, and rules for code hosts. Each list has one query key.

export const webhooks = queryOptions({
  queryKey: ["webhooks"],
  queryFn: () =>
    allPages<Schemas["Webhook"]>((cursor) =>
      ask(client.GET("/api/v1/webhooks", { params: { query: { limit: 500, cursor } } })),
    ),
});

/** What was sent, newest first; read again and again while something waits. */
export const deliveries = (name: string) =>
  infiniteQueryOptions({
    queryKey: ["deliveries", name],
    queryFn: ({ pageParam }) =>
      ask(
        client.GET("/api/v1/webhooks/{name}/deliveries", {
          params: { path: { name }, query: { limit: 20, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.items.some((one) => one.status === "waiting"))
        ? 5_000
        : false,
  });

export const rules = queryOptions({
  queryKey: ["rules"],
  queryFn: () =>
    allPages<Schemas["Rule"]>((cursor) =>
      ask(client.GET("/api/v1/rules", { params: { query: { limit: 500, cursor } } })),
    ),
});

/** A rule as it is now, and what became of its last pull requests. */
export const reviews = (name: string) =>
  queryOptions({
    queryKey: ["reviews", name],
    queryFn: () => ask(client.GET("/api/v1/rules/{name}", { params: { path: { name } } })),
    refetchInterval: 10_000,
  });
