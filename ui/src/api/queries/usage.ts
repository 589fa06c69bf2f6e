import { queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "../client";

export type MetricPoint = Schemas["MetricPoint"];
export type Metrics = Schemas["Metrics"];

/** How often a curve is read again: nodes send their measurements every quarter of a minute. */
const AGAIN = 15_000;

const since = (span: number) => new Date(Date.now() - span).toISOString();

/** What a node used during the last `span` milliseconds. */
export const nodeMetrics = (name: string, span: number) =>
  queryOptions({
    queryKey: ["node", name, "metrics", span],
    queryFn: () =>
      ask(
        client.GET("/api/v1/nodes/{name}/metrics", {
          params: { path: { name }, query: { from: since(span) } },
        }),
      ),
    refetchInterval: AGAIN,
  });

/** What the services of a deployment used during the last `span` milliseconds. */
export const deploymentMetrics = (id: string, span: number) =>
  queryOptions({
    queryKey: ["deployment", id, "metrics", span],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/metrics", {
          params: { path: { id }, query: { from: since(span) } },
        }),
      ),
    refetchInterval: AGAIN,
  });
