import { ApiError, type Problem, type Schemas } from "@/api/client";
import type { LiveState } from "@/api/live";
import type { ServerEvent } from "@/api/sse";
import type { LogRow } from "@/components/LogLine";

// What the page knows of a log that is read as a stream. No React here.

export type Trouble = Schemas["LogTrouble"];

/** `ended`: the log is complete; `failed`: no more automatic retries. */
export type Link = "connecting" | "live" | "behind" | "ended" | "failed";

export type LogStream = {
  url: string;
  lines: LogRow[];
  /** Lines that were let go, before the first one. */
  cut: number;
  trouble: Trouble[];
  link: Link;
  error?: unknown;
  /** The stream began again from its last lines: with the first of them, the ones known go. */
  anew: boolean;
};

export type Change =
  | { kind: "begin"; url: string }
  | { kind: "opened"; resumed: boolean }
  | { kind: "state"; state: LiveState }
  | { kind: "lines"; lines: LogRow[]; keep: number }
  | { kind: "trouble"; trouble: Trouble }
  | { kind: "ended" }
  | { kind: "failed"; error: unknown };

export const nothing: LogStream = {
  url: "",
  lines: [],
  cut: 0,
  trouble: [],
  link: "connecting",
  anew: false,
};

export function reduce(log: LogStream, change: Change): LogStream {
  switch (change.kind) {
    case "begin":
      return beginLog(log, change.url);
    case "opened":
      // A resumed stream continues after the last line; troubles are sent again.
      return { ...log, anew: !change.resumed, trouble: [] };
    case "lines":
      return add(log, change.lines, change.keep);
    case "trouble":
      return { ...log, trouble: [...otherTroubles(log, change.trouble), change.trouble] };
    case "ended":
      return { ...log, link: "ended", error: undefined };
    case "failed":
      return { ...log, link: "failed", error: change.error };
    case "state":
      return follow(log, change.state);
  }
}

/** Another address is another log; the same once more keeps its lines until there are new ones. */
function beginLog(log: LogStream, url: string): LogStream {
  if (log.url !== url) return { ...nothing, url };
  return { ...log, link: "connecting", error: undefined };
}

function add(log: LogStream, lines: LogRow[], keep: number): LogStream {
  const all = log.anew ? lines : [...log.lines, ...lines];
  const over = Math.max(0, all.length - keep);
  const cut = (log.anew ? 0 : log.cut) + over;
  return { ...log, lines: over > 0 ? all.slice(over) : all, cut, anew: false };
}

function otherTroubles(log: LogStream, { source }: Trouble): Trouble[] {
  return log.trouble.filter((one) => one.source !== source);
}

function follow(log: LogStream, { kind, error }: LiveState): LogStream {
  // Between two tries it is still not known whether what was wrong is mended.
  const why = kind === "behind" ? (error ?? log.error) : error;
  return { ...log, link: kind === "out" ? "failed" : kind, error: why };
}

/** Parses one event of the stream; undefined for unknown kinds. */
export function readEvent(event: ServerEvent): Change | { line: LogRow } | undefined {
  const data = () => JSON.parse(event.data);
  if (event.event === "line") return { line: { ...data(), id: event.id || undefined } };
  if (event.event === "trouble") return { kind: "trouble", trouble: data() };
  if (event.event === "end") return { kind: "ended" };
  if (event.event === "error") return { kind: "failed", error: refusal(data()) };
  return undefined;
}

function refusal(problem: Problem): ApiError {
  return new ApiError(problem.status ?? 503, problem);
}

/** Whether a source gave as many lines as were asked for: it may have earlier ones. */
export function reachesTail(lines: LogRow[], tail: number): boolean {
  const counts = new Map<string, number>();
  for (const { source = "" } of lines) {
    const count = (counts.get(source) ?? 0) + 1;
    if (count >= tail) return true;
    counts.set(source, count);
  }
  return false;
}

/** The time of a linked line, from its id, in ms. */
export function timeOf(id: string): number {
  return Date.parse(id.split("/")[0] ?? "");
}

/**
 * Whether a line is not among what is shown and will not come: the log is over, or lines that were
 * written after it are there.
 */
export function isMissed(log: LogStream, id: string): boolean {
  if (log.lines.some((line) => line.id === id)) return false;
  const last = log.lines[log.lines.length - 1];
  if (last && Date.parse(last.at) > timeOf(id)) return true;
  return log.link === "ended" || Number.isNaN(timeOf(id));
}
