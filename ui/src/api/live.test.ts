import { afterEach, describe, expect, it, vi } from "vitest";
import { followStream, type LiveState } from "./live";

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
    stop = followStream({
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
    stop = followStream({
      url: "/x",
      fetch,
      backoff: () => 0,
      onEvent: () => {},
      onState: (s) => states.push(s.kind),
    });
    await vi.waitFor(() => expect(states.at(-1)).toBe("out"));
    expect(states).toEqual(["connecting", "live", "behind", "behind", "out"]);
  });

  it("says why there is no stream, with the sentence of the API", async () => {
    const states: LiveState[] = [];
    const problem = { title: "Unavailable", detail: "node alpha is offline", status: 503 };
    const answers = [
      () => Response.json(problem, { status: 503 }),
      () => Promise.reject(new TypeError("no link")),
      () => Response.json({ ...problem, detail: "gone" }, { status: 404 }),
    ];
    const fetch = (async () => answers.shift()?.()) as typeof globalThis.fetch;
    stop = followStream({
      url: "/x",
      fetch,
      backoff: () => 0,
      onEvent: () => {},
      onState: (s) => states.push(s),
    });
    await vi.waitFor(() => expect(states.at(-1)?.kind).toBe("out"));
    expect(states.map((s) => [s.kind, (s.error as Error | undefined)?.message])).toEqual([
      ["connecting", undefined],
      ["behind", "node alpha is offline"],
      ["behind", "no link"],
      ["out", "gone"],
    ]);
  });

  it("waits longer and longer for a server that ends each stream at once", async () => {
    const waits: number[] = [];
    stop = followStream({
      url: "/x",
      fetch: (async () => new Response(": open\n\n")) as typeof globalThis.fetch,
      backoff: (tries) => {
        waits.push(tries);
        return 0;
      },
      onEvent: () => {},
      onState: () => {},
    });
    await vi.waitFor(() => expect(waits.length).toBeGreaterThanOrEqual(4));
    expect(waits.slice(0, 4)).toEqual([0, 1, 2, 3]);
  });

  it("begins anew with short waits after a stream that lived for some seconds", async () => {
    const waits: number[] = [];
    const opened = Date.now();
    let passed = 0;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => opened + passed);
    const fetch = async () => new Response("data: 1\n\n");
    stop = followStream({
      url: "/x",
      fetch: fetch as typeof globalThis.fetch,
      backoff: (tries) => {
        waits.push(tries);
        return 0;
      },
      onEvent: () => {
        passed += 6_000;
      },
      onState: () => {},
    });
    await vi.waitFor(() => expect(waits.length).toBeGreaterThanOrEqual(3));
    clock.mockRestore();
    expect(waits.slice(0, 3)).toEqual([0, 0, 0]);
  });

  it("gives up a call that nobody answers, as it does a stream that fell silent", async () => {
    vi.useFakeTimers();
    let calls = 0;
    const silent = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_, lost) => {
        calls++;
        init?.signal?.addEventListener("abort", () => lost(new DOMException("", "AbortError")));
      });
    const states: LiveState["kind"][] = [];
    stop = followStream({
      url: "/x",
      fetch: silent as typeof globalThis.fetch,
      backoff: () => 0,
      onEvent: () => {},
      onState: (s) => states.push(s.kind),
    });
    await vi.advanceTimersByTimeAsync(21_000);
    vi.useRealTimers();
    expect([calls, states]).toEqual([2, ["connecting", "behind"]]);
  });
});
