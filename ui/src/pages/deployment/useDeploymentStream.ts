import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useReducer, useRef } from "react";
import type { Deployment, LogLine, Step } from "@/api/client";
import type { LiveState } from "@/api/live";
import { addPage, emptyLog, hasGap, lastNumber, type StepLog } from "@/api/log";
import { deployment as deploymentQuery, readLog, run as runQuery } from "@/api/queries/deployments";
import { newerReading, nothingWatched, reduce, stepId, type Watched } from "@/api/run";
import type { ServerEvent } from "@/api/sse";
import { useLive } from "@/api/useLive";

type Action = { events: ServerEvent[] } | { id: string; after: number; page: LogLine[] } | "anew";

function reducer(state: Watched, action: Action): Watched {
  if (action === "anew") return nothingWatched;
  if ("events" in action) return reduce(state, action.events);
  const log = addPage(state.logs[action.id] ?? emptyLog, action.after, action.page);
  return { ...state, logs: { ...state.logs, [action.id]: log } };
}

export type Watch = {
  deployment: Deployment | undefined;
  watched: Watched;
  live: LiveState;
  error: unknown;
  refetch: () => void;
  /** Reads a step's log after the known lines, and fills gaps. */
  read: (run: number, step: string) => Promise<void>;
};

/** One deployment, from what was asked for and what its stream tells: the newer reading wins. */
export function useDeploymentStream(id: string): Watch {
  const cache = useQueryClient();
  const query = useQuery(deploymentQuery(id));
  const [watched, dispatch] = useReducer(reducer, nothingWatched);
  useEffect(() => dispatch("anew"), [id]);
  const onEvents = useCallback(
    (events: ServerEvent[]) => {
      if (events.some((event) => event.event === "reset"))
        void cache.invalidateQueries({ queryKey: ["deployment", id] });
      dispatch({ events });
    },
    [cache, id],
  );
  const live = useLive(`/api/v1/deployments/${encodeURIComponent(id)}/events`, onEvents);
  const logs = useRef(watched.logs);
  logs.current = watched.logs;
  const read = useCallback(
    async (run: number, step: string) => {
      const key = stepId(run, step);
      const after = lastNumber(logs.current[key] ?? emptyLog);
      await readLog(id, run, step, after, (from, page) => dispatch({ id: key, after: from, page }));
    },
    [id],
  );
  const told = watched.deployment;
  const deployment = query.data
    ? told
      ? newerReading(told, query.data)
      : query.data
    : (told ?? undefined);
  return {
    deployment,
    watched,
    live,
    error: query.error,
    refetch: () => void query.refetch(),
    read,
  };
}

/** The steps of a run in their order: as read, overlaid by what the stream told since. */
export function useSteps(id: string, run: number, watched: Watched) {
  const query = useQuery(runQuery(id, run));
  const told = Object.values(watched.steps).filter((step) => step.run === run);
  const by = new Map<string, Step>((query.data?.steps ?? []).map((step) => [step.key, step]));
  for (const step of told) by.set(step.key, step);
  const steps = [...by.values()].sort((a, b) => a.position - b.position);
  return {
    run: query.data,
    steps,
    error: query.error,
    refetch: () => void query.refetch(),
    pending: query.isPending,
  };
}

/** A step's log: read when it is opened, when a gap shows, and when the step has ended. */
export function useStepLog(
  watch: Watch,
  run: number,
  step: Step | undefined,
): { log: StepLog; error?: unknown; reading: boolean; again: () => void } {
  const key = step ? stepId(run, step.key) : "";
  const log = watch.watched.logs[key] ?? emptyLog;
  const [state, setState] = useReducer(
    (_: { error?: unknown; reading: boolean }, next: { error?: unknown; reading: boolean }) => next,
    { reading: true },
  );
  const [tries, again] = useReducer((count: number) => count + 1, 0);
  const gap = hasGap(log);
  const ended = Boolean(step?.ended_at);
  const name = step?.key;
  const live = watch.live.kind;
  const read = watch.read;
  useEffect(() => {
    // Without a link there is nothing to read; when it is back, this runs again.
    if (!name || live === "behind") return;
    let left = false;
    setState({ reading: true });
    read(run, name).then(
      () => !left && setState({ reading: false }),
      (error) => !left && setState({ error, reading: false }),
    );
    return () => {
      left = true;
    };
  }, [read, run, name, gap, ended, live, tries]);
  return { log, ...state, again };
}
