import { queryOptions } from "@tanstack/react-query";
import { ask, client, type NodeInfo, type Schemas } from "../client";
import { allPages } from "./common";

export const projects = queryOptions({
  queryKey: ["projects"],
  queryFn: () =>
    allPages<Schemas["Project"]>((cursor) =>
      ask(client.GET("/api/v1/projects", { params: { query: { limit: 500, cursor } } })),
    ),
});

export const project = (name: string) =>
  queryOptions({
    queryKey: ["project", name],
    queryFn: () => ask(client.GET("/api/v1/projects/{name}", { params: { path: { name } } })),
    enabled: name !== "",
  });

export const pipeline = (name: string) =>
  queryOptions({
    queryKey: ["project", name, "pipeline"],
    queryFn: () =>
      ask(client.GET("/api/v1/projects/{name}/pipeline", { params: { path: { name } } })),
    enabled: name !== "",
  });

/** One published version, which never changes. */
export const pipelineVersion = (name: string, version: number) =>
  queryOptions({
    queryKey: ["project", name, "pipeline", version],
    queryFn: () =>
      ask(
        client.GET("/api/v1/projects/{name}/pipeline/versions/{version}", {
          params: { path: { name, version } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const environments = queryOptions({
  queryKey: ["environments"],
  queryFn: () =>
    allPages<Schemas["Environment"]>((cursor) =>
      ask(client.GET("/api/v1/environments", { params: { query: { limit: 500, cursor } } })),
    ),
});

/** Certificates that were uploaded. */
export const certificates = queryOptions({
  queryKey: ["certificates"],
  queryFn: async () => (await ask(client.GET("/api/v1/certificates"))).items,
});

export const nodes = queryOptions({
  queryKey: ["nodes"],
  queryFn: () =>
    allPages<NodeInfo>((cursor) =>
      ask(client.GET("/api/v1/nodes", { params: { query: { limit: 500, cursor } } })),
    ),
});

/** Nodes that were given up. Under the list's query key, so that both are refetched together. */
export const givenUpNodes = queryOptions({
  queryKey: ["nodes", "given up"],
  queryFn: () =>
    allPages<Schemas["ForgottenNode"]>((cursor) =>
      ask(client.GET("/api/v1/forgotten-nodes", { params: { query: { limit: 500, cursor } } })),
    ),
});

export const node = (name: string) =>
  queryOptions({
    queryKey: ["node", name],
    queryFn: () => ask(client.GET("/api/v1/nodes/{name}", { params: { path: { name } } })),
  });

/** Under the node's query key, so that any event of the node refetches these too. */
export const nodeEvents = (name: string) =>
  queryOptions({
    queryKey: ["node", name, "events"],
    queryFn: async () =>
      (
        await ask(
          client.GET("/api/v1/nodes/{name}/events", {
            params: { path: { name }, query: { limit: 30 } },
          }),
        )
      ).items,
  });

/** Who waits for the node, in the order of turns; with history, the last that came. */
export const nodeQueue = (name: string, history: boolean) =>
  queryOptions({
    queryKey: ["node", name, "queue", history],
    queryFn: async () =>
      (
        await ask(
          client.GET("/api/v1/queue", {
            params: { query: { node: name, history, limit: history ? 20 : 500 } },
          }),
        )
      ).items,
  });

/** Attempts to set the machine up over SSH, newest first. */
export const nodeProvisions = (name: string) =>
  queryOptions({
    queryKey: ["node", name, "provisions"],
    queryFn: async () =>
      (
        await ask(
          client.GET("/api/v1/nodes/{name}/provisions", {
            params: { path: { name }, query: { limit: 20 } },
          }),
        )
      ).items,
  });

export const nodeDrain = (name: string) =>
  queryOptions({
    queryKey: ["node", name, "drain"],
    queryFn: () => ask(client.GET("/api/v1/nodes/{name}/drain", { params: { path: { name } } })),
  });
