import type { Deployment, LogLine, Progress, ServiceHealth, Step } from "./client";
import { addLines, emptyLog, type StepLog } from "./log";
import type { ServerEvent } from "./sse";

/** What a page knows about a deployment from its stream. */
export type Watched = {
  deployment: Deployment | null;
  /** By run and key: see `stepId`. */
  steps: Record<string, Step>;
  progress: Record<string, Progress>;
  /** When each step gave a sign of life lately, and the last one, in ms by this machine's clock. */
  signs: Record<string, number[]>;
  /** How far the server's clock is ahead of this machine's, in ms, once a sign was seen fresh. */
  ahead?: number;
  logs: Record<string, StepLog>;
};

export const nothingWatched: Watched = {
  deployment: null,
  steps: {},
  progress: {},
  signs: {},
  logs: {},
};

/** How far back signs of life are kept, in ms. */
export const SIGNS = 30_000;

export function stepId(run: number, key: string): string {
  return `${run}/${key}`;
}

/** Applies a batch of events: pure, so that order, gaps and doubles can be tested. */
export function reduce(state: Watched, events: ServerEvent[], now = Date.now()): Watched {
  let next = state;
  const lines: LogLine[] = [];
  for (const event of events) {
    const data = parseJson(event.data);
    if (data === undefined) continue;
    if (event.event === "line") lines.push(data as LogLine);
    else next = applyEvent(next, event, data, now);
  }
  return lines.length === 0 ? next : { ...next, logs: addAll(next.logs, lines) };
}

function applyEvent(
  state: Watched,
  { event, id }: ServerEvent,
  data: unknown,
  now: number,
): Watched {
  switch (event) {
    case "deployment": {
      const deployment = newerReading(state.deployment, data as Deployment);
      return { ...state, deployment };
    }
    case "step": {
      const step = data as Step;
      return { ...state, steps: { ...state.steps, [stepId(step.run, step.key)]: step } };
    }
    case "progress":
      return withSign(state, data as Progress, now);
    case "health":
      return withHealth(state, data as ServiceHealth[], revisionOfEvent(id));
    default:
      return state;
  }
}

/**
 * A stream that opens tells each step's last sign once more, whatever its age: it counts from when
 * it was given, not from when it came. One that is known already is no news.
 */
function withSign(state: Watched, one: Progress, now: number): Watched {
  const key = stepId(one.run, one.step);
  const at = Date.parse(one.at);
  const known = state.progress[key];
  if (known && Date.parse(known.at) >= at) return state;
  const ahead = clockOf(state.ahead, at - now, known !== undefined);
  const given = Math.min(now, at - (ahead ?? 0));
  const signs = [...(state.signs[key] ?? []).filter((sign) => sign > now - SIGNS), given];
  return {
    ...state,
    ahead,
    progress: { ...state.progress, [key]: one },
    signs: { ...state.signs, [key]: signs },
  };
}

/**
 * Estimates how far the server's clock is ahead of ours, from the timestamps of arriving signs of
 * life. Transport delay only lowers the difference, so the maximum is the best estimate. The first
 * sign of a step may be old, so it can only raise the estimate.
 */
function clockOf(known: number | undefined, seen: number, fresh: boolean): number | undefined {
  if (known !== undefined) return Math.max(known, seen);
  return fresh || seen > 0 ? seen : undefined;
}

/** The newer of two states of a deployment, since responses and events may cross. */
export function newerReading(known: Deployment | null | undefined, read: Deployment): Deployment {
  return known && known.id === read.id && known.revision > read.revision ? known : read;
}

/** The deployment's revision that an event of its history makes: ids are `<event>-<line>`. */
function revisionOfEvent(id: string): number {
  return Number.parseInt(id, 10) || 0;
}

function withHealth(state: Watched, health: ServiceHealth[], at: number): Watched {
  if (!state.deployment) return state;
  const told = new Map(health.map((service) => [service.step, service]));
  const kept = state.deployment.services.map((service) => told.get(service.step) ?? service);
  const known = new Set(kept.map((service) => service.step));
  const added = health.filter((service) => !known.has(service.step));
  const services = [...kept, ...added];
  // The revision too, or a reading from before this change would win over it.
  const newest = Math.max(state.deployment.revision, at);
  return { ...state, deployment: { ...state.deployment, services, revision: newest } };
}

function addAll(logs: Record<string, StepLog>, lines: LogLine[]): Record<string, StepLog> {
  const byStep = new Map<string, LogLine[]>();
  for (const line of lines) {
    const id = stepId(line.run, line.step);
    byStep.set(id, [...(byStep.get(id) ?? []), line]);
  }
  const next = { ...logs };
  for (const [id, added] of byStep) next[id] = addLines(next[id] ?? emptyLog, added);
  return next;
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // One unreadable event must not end the stream; what it said comes again with the next state.
    return undefined;
  }
}

/** Whether its image is pulled now. Images are pulled ahead too, while earlier steps run. */
export function isPulling(step: Step, progress?: Progress): boolean {
  if (step.status === "pulling") return true;
  const { pulled_bytes = 0, total_bytes = 0 } = progress ?? {};
  return step.status === "pending" && pulled_bytes < total_bytes;
}
