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
 * Who can grant access in general. The API explains access to one object, and treats hidden objects
 * like missing ones; so explaining a name that does not exist returns the people to ask about
 * anything.
 */
export const grantors = queryOptions({
  ...explained("environment/none"),
  select: (found) => found.ask,
});
