import { describe, expect, it } from "vitest";
import type { ServerEvent } from "@/api/sse";
import {
  type Change,
  isMissed,
  type LogStream,
  nothing,
  reachesTail,
  readEvent,
  reduce,
} from "./logStream";

const at = (second: number) => `2026-11-21T12:00:${String(second).padStart(2, "0")}Z`;
const row = (second: number, source?: string) => ({
  at: at(second),
  text: `line ${second}`,
  source,
  id: `${at(second)}/1`,
});
const lines = (...seconds: number[]): Change => ({
  kind: "lines",
  lines: seconds.map((one) => row(one)),
  keep: 3,
});
const after = (...changes: Change[]) =>
  changes.reduce<LogStream>(reduce, reduce(nothing, { kind: "begin", url: "/x" }));
const texts = (log: LogStream) => log.lines.map((line) => line.text);
const opened = (resumed: boolean): Change => ({ kind: "opened", resumed });

describe("a log that is read as a stream", () => {
  it("keeps its lines until the first new one, when it begins again", () => {
    const again = after(opened(false), lines(1, 2), opened(false));
    expect(texts(again)).toEqual(["line 1", "line 2"]);
    expect(texts(reduce(again, lines(2, 3)))).toEqual(["line 2", "line 3"]);
  });

  it("goes on behind its last line, when it resumes", () => {
    expect(texts(after(opened(false), lines(1), opened(true), lines(2)))).toEqual([
      "line 1",
      "line 2",
    ]);
  });

  it("counts the lines it lets go, and begins counting anew with other lines", () => {
    const long = after(opened(false), lines(1, 2), lines(3, 4, 5));
    expect([long.cut, texts(long)[0]]).toEqual([2, "line 3"]);
    expect(reduce(reduce(long, opened(false)), lines(6)).cut).toBe(0);
  });

  it("keeps its lines when somebody tries again, and forgets them with another address", () => {
    const failed = after(lines(1), { kind: "failed", error: new Error("offline") });
    const again = reduce(failed, { kind: "begin", url: "/x" });
    expect([again.link, again.error, again.lines.length]).toEqual(["connecting", undefined, 1]);
    expect(reduce(failed, { kind: "begin", url: "/y" }).lines).toEqual([]);
  });

  it("fails when it may not be read, and is never taken for a log that ended", () => {
    const error = new Error("Sign in.");
    const out = after({ kind: "state", state: { kind: "out", since: 0, error } });
    expect([out.link, out.error]).toEqual(["failed", error]);
  });

  it("keeps why it could not be opened until it is open", () => {
    const error = new Error("503");
    const behind = after(
      { kind: "state", state: { kind: "behind", since: 0, error } },
      { kind: "state", state: { kind: "behind", since: 0 } },
    );
    expect(behind.error).toBe(error);
    const live = reduce(behind, { kind: "state", state: { kind: "live", since: 0 } });
    expect(live.error).toBeUndefined();
  });
});

describe("the events of a log", () => {
  const event = (event: string, data: object, id = ""): ServerEvent => ({
    event,
    data: JSON.stringify(data),
    id,
  });

  it("are lines, with an id where they have one", () => {
    expect(readEvent(event("line", { at: at(1), text: "x" }, "t/1"))).toEqual({
      line: { at: at(1), text: "x", id: "t/1" },
    });
  });

  it("are a refusal with sentence and remedy", () => {
    const problem = { status: 503, detail: "node alpha is offline", remedy: "Try again later." };
    const told = readEvent(event("error", problem));
    expect(told).toMatchObject({ kind: "failed", error: { status: 503, problem } });
  });

  it("are passed over when nobody knows them", () => {
    expect(readEvent(event("news", {}))).toBeUndefined();
  });
});

describe("what is left out", () => {
  it("is possible as soon as one source gave all that was asked for", () => {
    expect(reachesTail([row(1, "web"), row(2, "db"), row(3, "web")], 2)).toBe(true);
    expect(reachesTail([row(1, "web"), row(2, "db")], 2)).toBe(false);
  });

  it("is a linked line that is older than what is shown, or that the log ends without", () => {
    const log = after(lines(5));
    expect(isMissed(log, row(5).id)).toBe(false);
    expect(isMissed(log, row(3).id)).toBe(true);
    expect(isMissed(log, row(9).id)).toBe(false);
    expect(isMissed(reduce(log, { kind: "ended" }), row(9).id)).toBe(true);
  });
});
