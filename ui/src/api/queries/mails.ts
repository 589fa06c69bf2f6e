import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

/** The newest mails of a deployment that have a text. */
export const mails = (id: string, search: string) =>
  queryOptions({
    queryKey: ["deployment", id, "mails", search],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/mails", {
          params: { path: { id }, query: { search: search || undefined, limit: 200 } },
        }),
      ),
  });

/** One mail. It never changes. */
export const mail = (id: string, number: number) =>
  queryOptions({
    queryKey: ["deployment", id, "mail", number],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/mails/{number}", {
          params: { path: { id, number } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
