import { useCallback, useEffect, useReducer, useState } from "react";
import { followStream } from "@/api/live";
import type { LogRow } from "@/components/LogLine";
import { type Change, type LogStream, nothing, readEvent, reduce } from "./logStream";

/** Lines are drawn in batches this far apart, in ms. */
const BATCH = 100;

/**
 * Follows a log. After a disconnect it continues after the last line if lines have ids; otherwise
 * it starts over and keeps the old lines until new ones arrive. `again` retries after a failure.
 */
export function useLogStream(url: string, keep: number): LogStream & { again: () => void } {
  const [log, change] = useReducer(reduce, nothing);
  const [tries, setTries] = useState(0);
  const again = useCallback(() => setTries((count) => count + 1), []);
  useEffect(() => {
    change({ kind: "begin", url });
    return watch(url, keep, change);
  }, [url, keep, tries]);
  return { ...log, again };
}

function watch(url: string, keep: number, change: (change: Change) => void): () => void {
  let batch: LogRow[] = [];
  const flush = () => {
    if (batch.length > 0) change({ kind: "lines", lines: batch, keep });
    batch = [];
  };
  const timer = setInterval(flush, BATCH);
  const stop = followStream({
    url,
    onEvent: (event) => {
      const told = readEvent(event);
      if (!told) return;
      if ("line" in told) return void batch.push(told.line);
      flush();
      change(told);
      if (told.kind !== "trouble") stop();
    },
    onOpen: (resumed) => {
      // What is still on its way to the page came from the stream before.
      flush();
      change({ kind: "opened", resumed });
    },
    onState: (state) => change({ kind: "state", state }),
  });
  return () => {
    clearInterval(timer);
    stop();
  };
}
