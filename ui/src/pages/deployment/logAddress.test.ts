import { describe, expect, it } from "vitest";
import { downloadQuery, isTail, streamQuery } from "./logAddress";

const asked = (query: string) => Object.fromEntries(new URLSearchParams(query));

describe("what is asked of a log", () => {
  it("is its last lines, as long as nothing says where to begin", () => {
    expect(asked(streamQuery({ sources: [] }))).toEqual({ follow: "true", tail: "1000" });
    expect(isTail({ sources: ["web"] })).toBe(true);
  });

  it("is everything since a time", () => {
    const since = "2026-11-21T12:00:00Z";
    expect(asked(streamQuery({ sources: [], since }))).toMatchObject({ since, tail: "100000" });
    expect(isTail({ sources: [], since })).toBe(false);
  });

  it("begins a minute before a line that somebody links to, whatever time was chosen", () => {
    const wish = { sources: [], at: "2026-11-21T12:00:00.5Z/2", since: "2026-11-21T13:00:00Z" };
    expect(asked(streamQuery(wish)).since).toBe("2026-11-21T11:59:00.500Z");
    expect(asked(downloadQuery(wish)).since).toBe(wish.since);
  });

  it("names sources, words and an earlier run, escaped", () => {
    const query = downloadQuery({ sources: ["web", "db"], find: "a&b", run: 2 });
    expect(query).toBe("source=web&source=db&search=a%26b&run=2");
  });
});
