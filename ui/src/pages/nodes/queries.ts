import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "@/api/client";

/**
 * Deployments that the node runs and the database lost. Under the node's query key, so that both
 * are refetched together.
 */
export const nodeUnknown = (name: string) =>
  queryOptions({
    queryKey: ["node", name, "unknown"],
    queryFn: async () =>
      (await ask(client.GET("/api/v1/nodes/{name}/unknown", { params: { path: { name } } }))).items,
  });
