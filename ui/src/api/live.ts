import { type ServerEvent, SseParser } from "./sse";
import { viewingHeaders } from "./viewing";

/** What the page may say about its stream. `since` is when it was last in step, in ms. */
export type LiveState = { kind: "connecting" | "live" | "behind" | "out"; since: number };

type Options = {
  url: string;
  onEvent: (event: ServerEvent) => void;
  /** Called when the stream is open; `resumed` means it goes on behind the last event. */
  onOpen?: (resumed: boolean) => void;
  onState: (state: LiveState) => void;
  fetch?: typeof fetch;
  /** Wait before the n-th try, in ms. */
  backoff?: (tries: number) => number;
};

/** The server sends a comment at least every 15 s; three missed ones mean that the link is dead. */
const SILENCE = 45_000;

const defaultBackoff = (tries: number) =>
  Math.min(8000, 400 * 2 ** Math.min(tries, 6)) * (0.7 + Math.random() * 0.6);

/**
 * Follows a stream of server-sent events for ever, resuming with Last-Event-ID behind the last
 * event that was handed on, until the returned function is called. A 401 ends it as "out", a 403 or
 * 404 as well: what may not be seen any more is not asked for again.
 */
export function follow(options: Options): () => void {
  const ask = options.fetch ?? fetch;
  const backoff = options.backoff ?? defaultBackoff;
  let lastId = "";
  let since = Date.now();
  let tries = 0;
  let ended = false;
  let abort = new AbortController();
  let wake: (() => void) | undefined;

  const state = (kind: LiveState["kind"]) => {
    if (!ended) options.onState({ kind, since });
  };

  const read = async (): Promise<"again" | "stop"> => {
    abort = new AbortController();
    const headers: Record<string, string> = { Accept: "text/event-stream", ...viewingHeaders() };
    if (lastId) headers["Last-Event-ID"] = lastId;
    const response = await ask(options.url, {
      headers,
      signal: abort.signal,
      credentials: "same-origin",
      cache: "no-store",
    });
    if ([401, 403, 404].includes(response.status)) return "stop";
    if (!response.ok || !response.body) return "again";
    tries = 0;
    options.onOpen?.(lastId !== "");
    state("live");
    await pump(response.body);
    return "again";
  };

  const pump = async (body: ReadableStream<Uint8Array>) => {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser(lastId);
    for (;;) {
      const watchdog = setTimeout(() => abort.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(watchdog));
      if (done || ended) return;
      since = Date.now();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        options.onEvent(event);
        lastId = event.id;
      }
    }
  };

  const run = async () => {
    while (!ended) {
      let next: "again" | "stop" = "again";
      try {
        next = await read();
      } catch {
        // The link broke, or was broken on purpose: both mean trying again.
      }
      if (ended) return;
      if (next === "stop") return state("out");
      state("behind");
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, backoff(tries++));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const lost = () => abort.abort();
  const found = () => {
    tries = 0;
    wake?.();
  };
  globalThis.addEventListener?.("offline", lost);
  globalThis.addEventListener?.("online", found);
  state("connecting");
  void run();

  return () => {
    ended = true;
    globalThis.removeEventListener?.("offline", lost);
    globalThis.removeEventListener?.("online", found);
    abort.abort();
    wake?.();
  };
}
