import { useEffect, useRef, useState } from "react";
import { followStream, type LiveState } from "./live";
import type { ServerEvent } from "./sse";

/** Events are handed on in batches this far apart, in ms: a flood costs one render per frame or two. */
const BATCH = 40;

/**
 * The page's event stream. Events arrive in order, in batches, and never after unmount. `opened` is
 * called on each connect, with whether the stream resumed without a gap.
 */
export function useLive(
  url: string | null,
  onEvents: (events: ServerEvent[]) => void,
  opened?: (resumed: boolean) => void,
): LiveState {
  const [state, setState] = useState<LiveState>({ kind: "connecting", since: Date.now() });
  const handlers = useRef({ onEvents, opened });
  handlers.current = { onEvents, opened };
  useEffect(() => {
    if (!url) return;
    let batch: ServerEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      const ready = batch;
      batch = [];
      handlers.current.onEvents(ready);
    };
    const stop = followStream({
      url,
      onEvent: (event) => {
        batch.push(event);
        timer ??= setTimeout(flush, BATCH);
      },
      onOpen: (resumed) => handlers.current.opened?.(resumed),
      onState: setState,
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [url]);
  return state;
}
