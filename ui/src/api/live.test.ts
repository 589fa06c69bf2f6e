import { afterEach, describe, expect, it, vi } from "vitest";
import { follow, type LiveState } from "./live";

/** A server with a numbered log of events, which breaks the connection where it is told to. */
function server(total: number, breaks: number[]) {
  const asked: string[] = [];
  const fetch = async (_: unknown, init?: RequestInit) => {
    const headers = init?.headers as Record<string, string>;
    const after = Number(headers["Last-Event-ID"] ?? "0");
    asked.push(headers["Last-Event-ID"] ?? "");
    const until = breaks[asked.length - 1] ?? total;
    let text = "";
    for (let id = after + 1; id <= until; id++) text += `id: ${id}\nevent: line\ndata: ${id}\n\n`;
    // The link breaks in the middle of the next event.
    if (until < total) text += `id: ${until + 1}\nevent: line\ndata: ${until + 1}`;
    return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
  };
  return { fetch: fetch as typeof globalThis.fetch, asked };
}

describe("following a stream", () => {
  let stop = () => {};
  afterEach(() => stop());

  it("resumes without a gap or a double wherever it breaks", async () => {
    const { fetch, asked } = server(20, [3, 3, 11]);
    const got: string[] = [];
    stop = follow({
      url: "/x",
      fetch,
      backoff: () => 0,
      onEvent: (e) => got.push(e.data),
      onState: () => {},
    });
    await vi.waitFor(() => expect(got.length).toBeGreaterThanOrEqual(20));
    stop();
    expect(got).toEqual(Array.from({ length: 20 }, (_, i) => String(i + 1)));
    expect(asked.slice(0, 4)).toEqual(["", "3", "3", "11"]);
  });

  it("says when it is behind, and that it is signed out", async () => {
    const states: LiveState["kind"][] = [];
    const answers = [
      () => new Response("id: 1\ndata: 1\n\n"),
      () => new Response("no", { status: 503 }),
      () => new Response("no", { status: 401 }),
    ];
    const fetch = (async () =>
      (answers.shift() ?? (() => new Response("", { status: 401 })))()) as typeof globalThis.fetch;
    stop = follow({
      url: "/x",
      fetch,
      backoff: () => 0,
      onEvent: () => {},
      onState: (s) => states.push(s.kind),
    });
    await vi.waitFor(() => expect(states.at(-1)).toBe("out"));
    expect(states).toEqual(["connecting", "live", "behind", "behind", "out"]);
  });
});
