import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

// What needs attention. The server looks every ten seconds; the sidebar asks on every page.

const AGAIN = 30_000;

/** The alerts that are active, as far as the person may see them. */
export const activeAlerts = queryOptions({
  queryKey: ["alerts", "active"],
  queryFn: async () => (await ask(client.GET("/api/v1/alerts"))).items,
  refetchInterval: AGAIN,
});

/** With those that ended in the last month. */
export const allAlerts = queryOptions({
  queryKey: ["alerts", "all"],
  queryFn: async () =>
    (await ask(client.GET("/api/v1/alerts", { params: { query: { ended: true } } }))).items,
  refetchInterval: AGAIN,
});
