import { infiniteQueryOptions, queryOptions, skipToken } from "@tanstack/react-query";
import { texts } from "@/texts";
import { ApiError, ask, client, type Deployment, type LogLine } from "../client";
import { mergeRead } from "../mergeDeployments";
import { allPages } from "./common";

const page = (cursor?: string) =>
  ask(client.GET("/api/v1/deployments", { params: { query: { limit: 500, cursor } } }));

/** Whether there are more deployments than were read; set when they are read. */
export const moreDeployments = queryOptions<boolean>({
  queryKey: ["more deployments"],
  queryFn: skipToken,
});

/** Every deployment that is not removed, newest first, as far as they are read at all. */
export const deployments = queryOptions({
  queryKey: ["deployments"],
  queryFn: ({ client: cache }) =>
    allPages<Deployment>(page, (more) => cache.setQueryData(moreDeployments.queryKey, more)),
  // For every reader: events that arrived during the request are newer.
  structuralSharing: (known, read) =>
    mergeRead(known as Deployment[] | undefined, read as Deployment[]),
});

/** Whether one is ready, without reading all of them; below the list's own key. */
export const anyReady = queryOptions({
  queryKey: ["deployments", "any ready"],
  queryFn: async () => {
    const query = { status: ["ready" as const], limit: 1 };
    const { items } = await ask(client.GET("/api/v1/deployments", { params: { query } }));
    return items.length > 0;
  },
});

type Gone = {
  environment?: string;
  project?: string;
  search?: string;
  status: Deployment["status"][];
};

/**
 * Removed deployments, paginated since there may be very many. Under the list's query key, so that
 * invalidating the list refetches these too.
 */
export const records = (query: Gone) =>
  infiniteQueryOptions({
    queryKey: ["deployments", "records", query],
    queryFn: ({ pageParam }) =>
      ask(
        client.GET("/api/v1/deployments", {
          params: { query: { ...query, removed: true, limit: 200, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
  });

export const deployment = (id: string) =>
  queryOptions({
    queryKey: ["deployment", id],
    queryFn: () => ask(client.GET("/api/v1/deployments/{id}", { params: { path: { id } } })),
  });

/** The deployment of that name: the one that is there, or the newest of those removed. */
export const deploymentByName = (environment: string, name: string) =>
  queryOptions({
    queryKey: ["deployment-by-name", environment, name],
    queryFn: async () => {
      for (const removed of [false, true]) {
        const query = { environment, name, removed, limit: 1 };
        const found = await ask(client.GET("/api/v1/deployments", { params: { query } }));
        if (found.items[0]) return found.items[0];
      }
      throw new ApiError(404, {
        type: "about:blank",
        title: texts.notFoundTitle,
        status: 404,
        code: "not_found",
        request_id: "",
      });
    },
  });

/** What two deployments do not have in common. */
export const difference = (a: string, b: string) =>
  queryOptions({
    queryKey: ["deployment", a, "diff", b],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/diff", {
          params: { path: { id: a }, query: { with: b } },
        }),
      ),
  });

export const runs = (id: string) =>
  queryOptions({
    queryKey: ["deployment", id, "runs"],
    queryFn: () => ask(client.GET("/api/v1/deployments/{id}/runs", { params: { path: { id } } })),
  });

export const run = (id: string, number: number) =>
  queryOptions({
    queryKey: ["deployment", id, "run", number],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/runs/{run}", {
          params: { path: { id, run: number } },
        }),
      ),
    enabled: number > 0,
  });

/** A run beside the last good one of its project; read again with each change of the deployment. */
export const comparison = (id: string, number: number, revision: number) =>
  queryOptions({
    queryKey: ["deployment", id, "run", number, "comparison", revision],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/runs/{run}/comparison", {
          params: { path: { id, run: number } },
        }),
      ),
    placeholderData: (before) => (before?.run.number === number ? before : undefined),
  });

/** What failed in the tests of a step. The results of a run change only when its step ends. */
export const stepTests = (id: string, number: number, step: string) =>
  queryOptions({
    queryKey: ["deployment", id, "run", number, "tests", step],
    queryFn: () =>
      ask(
        client.GET("/api/v1/deployments/{id}/runs/{run}/steps/{step}/tests", {
          params: { path: { id, run: number, step } },
        }),
      ),
  });

/**
 * The log lines of a step after a number, page by page to the end. The caller can drop the first
 * lines of a long log while the rest is still being read.
 */
export async function readLog(
  id: string,
  runNumber: number,
  step: string,
  after: number,
  onPage: (after: number, page: LogLine[]) => void,
) {
  for (let from = after; ; ) {
    const params = { path: { id, run: runNumber, step }, query: { after: from, limit: 5000 } };
    const answer = await ask(
      client.GET("/api/v1/deployments/{id}/runs/{run}/steps/{step}/log", { params }),
    );
    onPage(from, answer.items);
    const last = answer.items[answer.items.length - 1]?.number;
    if (!answer.more || last === undefined) return;
    from = last;
  }
}

export const tags = (service: string, search: string, order: "newest" | "version") =>
  infiniteQueryOptions({
    queryKey: ["tags", service, search, order],
    queryFn: ({ pageParam }) =>
      ask(
        client.GET("/api/v1/services/{name}/tags", {
          params: {
            path: { name: service },
            query: { search: search || undefined, order, limit: 200, cursor: pageParam },
          },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    staleTime: 15_000,
  });
