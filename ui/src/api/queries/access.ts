import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

/**
 * Who can give a person what they do not have. The API explains access to one object, and what one may not
 * see like what does not exist: so a name that nothing has gives the people to ask, for everything.
 */
export const grantors = queryOptions({
  queryKey: ["grantors"],
  queryFn: async () =>
    (
      await ask(
        client.GET("/api/v1/me/access", { params: { query: { object: "environment/none" } } }),
      )
    ).ask,
  staleTime: 300_000,
  retry: false,
});
