import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "@/api/client";

/** What the node runs and the database lost; below the node's own key, read anew with it. */
export const nodeUnknown = (name: string) =>
  queryOptions({
    queryKey: ["node", name, "unknown"],
    queryFn: async () =>
      (await ask(client.GET("/api/v1/nodes/{name}/unknown", { params: { path: { name } } }))).items,
  });
