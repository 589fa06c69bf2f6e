import { ApiError, refusalOf } from "./client";
import { type ServerEvent, SseParser } from "./sse";
import { viewingHeaders } from "./viewAs";

/**
 * The state of the page's stream. `since` is when it was last up to date, in ms. `error` is why it
 * could not be opened; a stream that was open and broke off has none.
 */
export type LiveState = {
  kind: "connecting" | "live" | "behind" | "out";
  since: number;
  error?: unknown;
};

type Options = {
  url: string;
  onEvent: (event: ServerEvent) => void;
  /** Called when the stream opens; `resumed` means that it continues after the last event. */
  onOpen?: (resumed: boolean) => void;
  onState: (state: LiveState) => void;
  fetch?: typeof fetch;
  /** Wait before the n-th try, in ms. */
  backoff?: (tries: number) => number;
};

/** The server sends a comment at least every 10 s; two missed ones mean that the link is dead. */
const SILENCE = 20_000;

/** What ended sooner was no link to count on: a server that takes every call and ends it at once is spared. */
const LASTED = 5_000;

/** Missing access is not fixed by retrying. */
const FINAL = [401, 403, 404];

const defaultBackoff = (tries: number) =>
  Math.min(8000, 400 * 2 ** Math.min(tries, 6)) * (0.7 + Math.random() * 0.6);

/**
 * Follows a stream of server-sent events, reconnecting with the Last-Event-ID of the last delivered
 * event, until the returned function is called. 401, 403 and 404 end it: access that was lost is
 * not retried.
 */
export function followStream(options: Options): () => void {
  const ask = options.fetch ?? fetch;
  const backoff = options.backoff ?? defaultBackoff;
  let lastId = "";
  let since = Date.now();
  let tries = 0;
  let ended = false;
  let abort = new AbortController();
  let wake: (() => void) | undefined;

  const state = (kind: LiveState["kind"], error?: unknown) => {
    if (!ended) options.onState(error === undefined ? { kind, since } : { kind, since, error });
  };

  /** Breaks off what takes longer than a link that is alive may be silent. */
  const awake = <T>(work: Promise<T>): Promise<T> => {
    const watchdog = setTimeout(() => abort.abort(), SILENCE);
    return work.finally(() => clearTimeout(watchdog));
  };

  /** Reads until the connection is lost, or returns why it could not be opened. */
  const read = async (): Promise<ApiError | undefined> => {
    abort = new AbortController();
    const headers: Record<string, string> = { Accept: "text/event-stream", ...viewingHeaders() };
    if (lastId) headers["Last-Event-ID"] = lastId;
    const response = await awake(
      ask(options.url, {
        headers,
        signal: abort.signal,
        credentials: "same-origin",
        cache: "no-store",
      }),
    );
    if (!response.ok || !response.body) return awake(refusalOf(response));
    options.onOpen?.(lastId !== "");
    state("live");
    const opened = Date.now();
    // That it breaks is nothing to tell: the next try says whether it can be mended.
    await pump(response.body).catch(() => undefined);
    if (Date.now() - opened >= LASTED) tries = 0;
    return undefined;
  };

  const pump = async (body: ReadableStream<Uint8Array>) => {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser(lastId);
    for (;;) {
      const { done, value } = await awake(reader.read());
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
      // No answer, or a link that was cut on purpose: both mean trying again.
      const error: unknown = await read().catch((lost) => lost);
      if (ended) return;
      if (error instanceof ApiError && FINAL.includes(error.status)) return state("out", error);
      state("behind", error);
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
