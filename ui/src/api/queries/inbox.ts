import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

/** What concerns the person who is signed in. */
export const inbox = queryOptions({
  queryKey: ["inbox"],
  queryFn: () => ask(client.GET("/api/v1/me/inbox")),
  refetchInterval: 30_000,
  retry: false,
});
