import type { Run, Step } from "@/api/client";
import { outcomeOf } from "./outcome";

// A run on one axis of time. No React here. All times are in ms since the epoch.

export type PartKind =
  | "queue"
  | "prepare"
  | "pull"
  | "sandbox"
  | "start"
  | "ready"
  | "run"
  | "wait"
  | "undo"
  /** Its agent does not tell what it did. */
  | "step";

export type Part = {
  kind: PartKind;
  from: number;
  to: number;
  failed?: boolean;
  /** Before the step's turn. */
  ahead?: boolean;
  /** It has not ended. */
  open?: boolean;
};

export type Lane = {
  /** The step's key; empty for the way of the run to its first step. */
  key: string;
  step?: Step;
  state: string;
  cleanup?: string;
  /** From its turn to its end: the parts lie on this. */
  turn?: { from: number; to: number };
  parts: Part[];
  /** Where it usually lies. */
  ghost?: { from: number; to: number };
};

export type Timeline = {
  start: number;
  /** The last moment of anything, the usual run included. */
  end: number;
  /** Something still goes on. */
  live: boolean;
  lanes: Lane[];
};

/** Ends of axes, in s: one is kept until the run is longer, so that nothing moves meanwhile. */
const ENDS = [
  1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 2700,
];

const MS = 1000;

/** Where everything lies. `now` counts for what has not ended. */
export function buildTimeline(run: Run, steps: Step[], now: number): Timeline | undefined {
  const queued = timeOf(run.queue?.queued_at ?? run.created_at);
  if (queued === undefined) return undefined;
  const lanes = steps.map((step) => laneOf(step, shownUndo(run), now));
  const began = firstOf(lanes);
  const way = wayToFirst(run, queued, began, now);
  addGhosts(lanes, steps, began);
  const all = way ? [way, ...lanes] : lanes;
  const ends = all.flatMap(({ parts, ghost, turn }) => [
    ...parts.map((part) => part.to),
    ghost?.to ?? 0,
    turn?.to ?? 0,
  ]);
  return {
    start: way ? queued : (began ?? queued),
    end: Math.max(queued, ...ends),
    live: all.some(({ parts }) => parts.some((part) => part.open)),
    lanes: all,
  };
}

/** The undo of a good run is its removal, perhaps days later: that is no part of its time. */
function shownUndo(run: Run): boolean {
  return run.result !== "ready";
}

function timeOf(text?: string | null): number | undefined {
  const time = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

const OPEN: Partial<Record<Step["status"], PartKind>> = {
  pulling: "pull",
  waiting: "wait",
  undoing: "undo",
};

function laneOf(step: Step, undo: boolean, now: number): Lane {
  const from = timeOf(step.started_at);
  const ended = timeOf(step.ended_at);
  const { state, cleanup } = outcomeOf(step);
  const parts = (step.parts ?? [])
    .map<Part>((part) => ({
      kind: part.kind,
      from: Date.parse(part.from),
      to: Date.parse(part.to),
      failed: part.failed,
      ahead: from !== undefined && Date.parse(part.from) < from && part.kind !== "undo",
    }))
    .filter((part) => undo || part.kind !== "undo");
  const open = openPart(step, parts, from, now);
  if (open && (undo || open.kind !== "undo")) parts.push(open);
  const undone = timeOf(step.undone_at);
  if (undo && undone !== undefined && !parts.some(({ kind }) => kind === "undo"))
    parts.push({ kind: "undo", from: undone, to: undone });
  const turn = from === undefined ? undefined : { from, to: ended ?? (open ? now : from) };
  if (turn && turn.to > turn.from && !parts.some((part) => part.kind !== "undo" && !part.ahead))
    parts.unshift({ kind: step.kind === "approval" ? "wait" : "step", ...turn });
  return { key: step.key, step, state, cleanup, parts, turn };
}

/** What a step does now is told when it ends. */
function openPart(step: Step, parts: Part[], from: number | undefined, now: number) {
  const { status, kind } = step;
  if (from === undefined || !["pulling", "running", "waiting", "undoing"].includes(status)) return;
  const known = parts.filter((part) => part.to <= now).map((part) => part.to);
  const begin = Math.max(from, timeOf(step.ended_at) ?? 0, ...known);
  const doing = OPEN[status] ?? (kind === "service" ? "ready" : "run");
  return { kind: doing, from: Math.min(begin, now), to: now, open: true } satisfies Part;
}

function firstOf(lanes: Lane[]): number | undefined {
  const all = lanes.flatMap(({ parts, turn }) => [
    ...parts.filter(({ kind }) => kind !== "undo").map((part) => part.from),
    ...(turn ? [turn.from] : []),
  ]);
  return all.length > 0 ? Math.min(...all) : undefined;
}

/** From the request to the first thing of a step: the queue, then network and secrets. */
function wayToFirst(
  run: Run,
  queued: number,
  began: number | undefined,
  now: number,
): Lane | undefined {
  const left = timeOf(run.queue?.started_at ?? run.queue?.left_at);
  const ended = timeOf(run.ended_at);
  const over = began ?? ended;
  const out = left ?? over ?? now;
  const parts: Part[] = [
    { kind: "queue", from: queued, to: Math.max(queued, out), open: left === undefined && !over },
  ];
  if (left !== undefined)
    parts.push({
      kind: "prepare",
      from: left,
      to: Math.max(left, over ?? now),
      open: over === undefined,
    });
  // Less than that nobody has waited for.
  const long = parts.filter((part) => part.open || part.to - part.from >= 50);
  if (long.length === 0) return undefined;
  const state = long.some((part) => part.open) ? "queued" : "done";
  return { key: "", state, parts: long };
}

/** One after the other, as the steps usually take; after a step without a usual time none is known. */
function addGhosts(lanes: Lane[], steps: Step[], began: number | undefined) {
  let from = began;
  for (const [at, step] of steps.entries()) {
    const lane = lanes[at];
    if (from === undefined || !lane) return;
    if (step.usual_seconds) {
      lane.ghost = { from, to: from + step.usual_seconds * MS };
      from = lane.ghost.to;
    } else if (step.kind !== "approval") return;
    // A person's answer takes as long as it takes.
    else from = lane.turn ? Math.max(from, lane.turn.to) : undefined;
  }
}

/** The length of the axis, in ms: a round one, which stays until the run is longer. */
export function axisLength({ start, end, live }: Timeline): number {
  const needed = Math.max(MS, end - start) * (live ? 1.05 : 1.01);
  const round = ENDS.find((one) => one * MS >= needed);
  return round ? round * MS : Math.ceil(needed / 900_000) * 900_000;
}

/** Ticks that are about `room` of the axis apart, at round offsets, in ms. */
export function axisTicks(length: number, count: number): number[] {
  const steps = [
    0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600,
  ];
  const apart = (steps.find((step) => (step * MS * count) / length >= 1) ?? 86_400) * MS;
  return Array.from({ length: Math.floor(length / apart + 1e-9) + 1 }, (_, at) => at * apart);
}

/** How long the parts of a kind took together, in the order in which they began. */
export function sumParts(parts: Part[]): { kind: PartKind; ms: number; times: number }[] {
  const sums = new Map<PartKind, { kind: PartKind; ms: number; times: number }>();
  for (const { kind, from, to } of [...parts].sort((a, b) => a.from - b.from)) {
    const sum = sums.get(kind) ?? { kind, ms: 0, times: 0 };
    sums.set(kind, { kind, ms: sum.ms + to - from, times: sum.times + 1 });
  }
  return [...sums.values()];
}
