import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

// The usage ledger: who held how much, and what nobody uses.

/** This month's balances, summed up by one thing. */
export const usageBy = (by: string) =>
  queryOptions({
    queryKey: ["usage", by],
    queryFn: () => ask(client.GET("/api/v1/usage", { params: { query: { by } } })),
  });

export const idleDeployments = queryOptions({
  queryKey: ["usage", "idle"],
  queryFn: () => ask(client.GET("/api/v1/usage/idle", {})),
});
