import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

/** What people asked admins for. */
export const accessRequests = queryOptions({
  queryKey: ["access-requests"],
  queryFn: () => ask(client.GET("/api/v1/access-requests")),
  refetchInterval: 30_000,
});

/** What people say about a deployment. */
export const comments = (id: string) =>
  queryOptions({
    queryKey: ["deployment", id, "comments"],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/comments", { params: { path: { id } } })),
    refetchInterval: 10_000,
  });

/** What QA says about a deployment, the newest first. */
export const verdicts = (id: string) =>
  queryOptions({
    queryKey: ["deployment", id, "verdicts"],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/verdicts", { params: { path: { id } } })),
    refetchInterval: 10_000,
  });

/** Up to twenty people who may see a deployment and whose names begin so. */
export const mentionable = (id: string, prefix: string) =>
  queryOptions({
    queryKey: ["deployment", id, "people", prefix],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/people", {
          params: { path: { id }, query: { prefix } },
        }),
      ),
    staleTime: 60_000,
  });
