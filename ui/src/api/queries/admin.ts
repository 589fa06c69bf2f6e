import { queryOptions } from "@tanstack/react-query";
import { ask, client, type Schemas } from "../client";
import { allPages } from "./common";

// What admins define. Each list is one key; a change invalidates it.

export const registries = queryOptions({
  queryKey: ["registries"],
  queryFn: () =>
    allPages<Schemas["Registry"]>((cursor) =>
      ask(client.GET("/api/v1/registries", { params: { query: { limit: 500, cursor } } })),
    ),
});

export const services = queryOptions({
  queryKey: ["services"],
  queryFn: () =>
    allPages<Schemas["Service"]>((cursor) =>
      ask(client.GET("/api/v1/services", { params: { query: { limit: 500, cursor } } })),
    ),
});

export const plugins = queryOptions({
  queryKey: ["plugins"],
  queryFn: () =>
    allPages<Schemas["Plugin"]>((cursor) =>
      ask(client.GET("/api/v1/plugins", { params: { query: { limit: 500, cursor } } })),
    ),
});

/** Names of a project's secrets, never a value. */
export const secrets = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "secrets"],
    queryFn: async () =>
      (
        await ask(
          client.GET("/api/v1/projects/{name}/secrets", { params: { path: { name: project } } }),
        )
      ).items,
    enabled: project !== "",
  });

export const keys = queryOptions({
  queryKey: ["keys"],
  queryFn: async () => (await ask(client.GET("/api/v1/keys"))).items,
});
