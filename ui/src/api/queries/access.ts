import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "../client";

/**
 * Why a person has the level they have on an object, what is missing for more, and who can give it.
 * `place` is where the answer is kept: what is explained alike is asked for once.
 */
export const explained = (object: string, place = object) =>
  queryOptions({
    queryKey: ["access", place],
    queryFn: () => ask(client.GET("/api/v1/me/access", { params: { query: { object } } })),
    staleTime: 60_000,
    retry: false,
  });

/**
 * Who can give a person what they do not have. The API explains access to one object, and what one may not
 * see like what does not exist: so a name that nothing has gives the people to ask, for everything.
 */
export const grantors = queryOptions({
  ...explained("environment/none"),
  select: (found) => found.ask,
});
