import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "../client";

export type Reset = Schemas["Activity"];

/** What reset a deployment's countdown, newest first. Another end means that there is a new one. */
export const activity = (id: string, end?: string) =>
  queryOptions({
    queryKey: ["deployment", id, "activity", end],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/activity", { params: { path: { id } } })),
    placeholderData: keepPreviousData,
    // Visits cause no event.
    refetchInterval: 60_000,
  });
