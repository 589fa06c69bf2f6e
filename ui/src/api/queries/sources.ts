import { queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "../client";
import { allPages } from "./common";

/** Repositories that hold definitions, with what the last look found. */
export const sources = queryOptions({
  queryKey: ["sources"],
  queryFn: () =>
    allPages<Schemas["DefinitionSource"]>((cursor) =>
      ask(client.GET("/api/v1/sources", { params: { query: { limit: 500, cursor } } })),
    ),
  refetchInterval: 15_000,
});

export const source = (name: string) =>
  queryOptions({
    queryKey: ["sources", name],
    queryFn: () => ask(client.GET("/api/v1/sources/{name}", { params: { path: { name } } })),
    refetchInterval: 15_000,
  });

/** Which source or owner defines something, and at which commit. For admins. */
export const origin = (kind: Schemas["DocumentKind"], name: string) =>
  queryOptions({
    queryKey: ["sources", "origin", kind, name],
    queryFn: () =>
      ask(
        client.GET("/api/v1/documents/{kind}/{name}/origin", { params: { path: { kind, name } } }),
      ),
  });
