import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { ask, client, isNotFound, type Schemas } from "@/api/client";
import { pipelineVersion } from "@/api/queries/catalog";
import { allPages } from "@/api/queries/common";
import type { Catalogue } from "../model/catalogue";
import { docOf, emptyDoc, pipelineOf } from "../model/document";
import type { DraftApi, Saved, Version } from "./serverDraft";

/** The API calls for a project's draft and versions. */
export function createDraftApi(name: string): DraftApi {
  const path = { name };
  const match = (revision: number) =>
    revision > 0 ? { header: { "If-Match": `"${revision}"` } } : {};
  return {
    draft: async () =>
      savedOf(await ask(client.GET("/api/v1/projects/{name}/draft", { params: { path } }))),
    save: async (doc, base, revision) =>
      savedOf(
        await ask(
          client.PUT("/api/v1/projects/{name}/draft", {
            params: { path, ...match(revision) },
            body: { base_version: base, content: pipelineOf(doc) },
          }),
        ),
      ),
    drop: async (revision) => {
      await ask(
        client.DELETE("/api/v1/projects/{name}/draft", { params: { path, ...match(revision) } }),
      );
    },
    version: (number) => version(name, number),
    publish: async (doc, base, note) => {
      const body = { pipeline: pipelineOf(doc), base, note };
      return (await ask(client.PUT("/api/v1/projects/{name}/pipeline", { params: { path }, body })))
        .version;
    },
  };
}

function savedOf(draft: Schemas["Draft"]): Saved {
  return {
    revision: draft.revision,
    base: draft.base_version,
    doc: draft.content && docOf(draft.content as unknown as Schemas["Pipeline"]),
  };
}

async function version(name: string, number?: number): Promise<Version> {
  const none = { version: 0, by: "", doc: emptyDoc };
  if (number === 0) return none;
  try {
    const found = await ask(
      number === undefined
        ? client.GET("/api/v1/projects/{name}/pipeline", { params: { path: { name } } })
        : client.GET("/api/v1/projects/{name}/pipeline/versions/{version}", {
            params: { path: { name, version: number } },
          }),
    );
    return { version: found.version, by: found.created_by, doc: docOf(found.pipeline) };
  } catch (error) {
    if (isNotFound(error) && number === undefined) return none;
    throw error;
  }
}

const limit = 500;

export const catalogue = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "catalogue"],
    queryFn: async (): Promise<Catalogue> => {
      const [services, plugins, secrets] = await Promise.all([
        allPages<Schemas["Service"]>((cursor) =>
          ask(client.GET("/api/v1/services", { params: { query: { limit, cursor } } })),
        ),
        allPages<Schemas["Plugin"]>((cursor) =>
          ask(client.GET("/api/v1/plugins", { params: { query: { limit, cursor } } })),
        ),
        ask(client.GET("/api/v1/projects/{name}/secrets", { params: { path: { name: project } } })),
      ]);
      return {
        services: new Map(services.map((one) => [one.name, one])),
        plugins: new Map(plugins.map((one) => [one.name, one])),
        secrets: secrets.items.map((one) => one.name),
      };
    },
  });

/** Each item holds a whole pipeline, so pages are short. */
const PAGE = 30;

/** The published versions, newest first, paginated. */
export const versions = (project: string) =>
  infiniteQueryOptions({
    queryKey: ["project", project, "versions"],
    queryFn: ({ pageParam }) =>
      ask(
        client.GET("/api/v1/projects/{name}/pipeline/versions", {
          params: { path: { name: project }, query: { limit: PAGE, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
  });

/** Version 0: the project has no pipeline yet. */
const NONE: Schemas["PipelineVersion"] = {
  version: 0,
  created_at: "",
  created_by: "",
  digest: "",
  pipeline: { format: 1, steps: [] },
};
const drawn = (found: Schemas["PipelineVersion"]) => docOf(found.pipeline);

/** The document of one version, with its copies from the catalogue. */
export const versionDocument = (project: string, number: number) => {
  const query = pipelineVersion(project, number);
  return number > 0
    ? { ...query, select: drawn }
    : { ...query, queryFn: () => NONE, select: drawn };
};

/**
 * The deployments of a project, each with the version it runs. The query key starts with that of
 * all deployments, so that invalidating those refetches these too.
 */
export const deploymentsByVersion = (project: string) =>
  infiniteQueryOptions({
    queryKey: ["deployments", "runners", project],
    queryFn: ({ pageParam }) =>
      ask(
        client.GET("/api/v1/deployments", {
          params: { query: { project, limit: 200, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
  });
