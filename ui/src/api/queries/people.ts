import { queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "../client";
import { allPages } from "./common";

// People and what they may. Each list is one key; a change invalidates it.

export const users = queryOptions({
  queryKey: ["users"],
  queryFn: () =>
    allPages<Schemas["User"]>((cursor) =>
      ask(client.GET("/api/v1/users", { params: { query: { limit: 500, cursor } } })),
    ),
});

export const teams = queryOptions({
  queryKey: ["teams"],
  queryFn: () =>
    allPages<Schemas["Team"]>((cursor) =>
      ask(client.GET("/api/v1/teams", { params: { query: { limit: 500, cursor } } })),
    ),
});

export const invitations = queryOptions({
  queryKey: ["invitations"],
  queryFn: async () => (await ask(client.GET("/api/v1/invitations"))).items,
});

/** A user's tokens; "" is oneself. */
export const tokens = (name: string) =>
  queryOptions({
    queryKey: ["tokens", name],
    queryFn: async () =>
      name === ""
        ? (await ask(client.GET("/api/v1/tokens"))).items
        : (await ask(client.GET("/api/v1/users/{name}/tokens", { params: { path: { name } } })))
            .items,
  });

export const sessions = queryOptions({
  queryKey: ["sessions"],
  queryFn: async () => (await ask(client.GET("/api/v1/sessions"))).items,
});

export const factors = queryOptions({
  queryKey: ["factors"],
  queryFn: () => ask(client.GET("/api/v1/me/factors")),
});

export const signInMethods = queryOptions({
  queryKey: ["sign-in"],
  queryFn: () => ask(client.GET("/api/v1/sign-in")),
  staleTime: 60_000,
});
