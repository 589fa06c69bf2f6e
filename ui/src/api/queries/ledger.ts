import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

// The usage ledger: who held how much, and what nobody uses.

/** Balances of some days, summed up by one thing; without days, those of this month. */
export const usageBy = (by: string, days: { from?: string; to?: string } = {}) =>
  queryOptions({
    queryKey: ["usage", by, days.from, days.to],
    queryFn: () => ask(client.GET("/api/v1/usage", { params: { query: { by, ...days } } })),
  });

export const budgets = queryOptions({
  queryKey: ["usage", "budgets"],
  queryFn: () => ask(client.GET("/api/v1/usage/budgets", {})),
});

export const idleDeployments = queryOptions({
  queryKey: ["usage", "idle"],
  queryFn: () => ask(client.GET("/api/v1/usage/idle", {})),
});
