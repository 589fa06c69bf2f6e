import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "@/api/client";

/** How the control plane was started: sign-on, mail, and how long things are kept. */
export const installation = queryOptions({
  queryKey: ["settings"],
  queryFn: () => ask(client.GET("/api/v1/settings")),
});
