import { queryOptions } from "@tanstack/react-query";
import { ask, client } from "@/api/client";

export const cloneSheet = (id: string) =>
  queryOptions({
    queryKey: ["deployment", id, "clone-sheet"],
    queryFn: () =>
      ask(client.GET("/api/v1/deployments/{id}/clone-sheet", { params: { path: { id } } })),
  });

export const templates = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "templates"],
    queryFn: async () =>
      (
        await ask(
          client.GET("/api/v1/projects/{name}/templates", { params: { path: { name: project } } }),
        )
      ).items,
  });
