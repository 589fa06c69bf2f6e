import { queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { allPages } from "@/api/queries/common";
import { readOrders } from "../environments/orderApi";

/** How often what has no event on this page is read again, in ms. */
export const AGAIN = 30_000;

/** How often what changes by the day is read again, in ms. */
export const SELDOM = 300_000;

/** All runs that wait, for whichever node. */
export const waiting = queryOptions({
  queryKey: ["queue", "all"],
  queryFn: () =>
    allPages<Schemas["QueueItem"]>((cursor) =>
      ask(client.GET("/api/v1/queue", { params: { query: { limit: 500, cursor } } })),
    ),
});

/** When the last backup was written, as its audit entry says; null when there is none. */
export const lastBackup = queryOptions({
  queryKey: ["audit", "last backup"],
  queryFn: async () => {
    const query = { actor: "system:backup", action: "back up", result: "ok", limit: 1 } as const;
    const { items } = await ask(client.GET("/api/v1/audit", { params: { query } }));
    return items[0]?.at ?? null;
  },
});

export const version = queryOptions({
  queryKey: ["version"],
  queryFn: () => ask(client.GET("/api/v1/version")),
});

/** What each environment orders of an authority; one that orders nothing has none. */
export const orders = queryOptions({
  queryKey: ["environments", "certificate orders"],
  queryFn: async () => {
    const all = await allPages<Schemas["Environment"]>((cursor) =>
      ask(client.GET("/api/v1/environments", { params: { query: { limit: 500, cursor } } })),
    );
    const read = all.map(async ({ name }) => ({
      environment: name,
      certificates: (await readOrders(name)).value?.certificates ?? [],
    }));
    return Promise.all(read);
  },
});
