import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import type { LiveState } from "@/api/live";
import type { ServerEvent } from "@/api/sse";
import { useLive } from "@/api/useLive";

/** What is measured has no event of its own, so it is asked for now and then. */
export const MEASURED = 10_000;

/** Refetches what the events concern: a node, its events, and the list. */
export function applyNodeEvents(cache: QueryClient, events: ServerEvent[]): void {
  const names = new Set<string>();
  for (const event of events) {
    if (event.event === "reset") readAll(cache);
    if (event.event === "node") names.add((JSON.parse(event.data) as { node: string }).node);
  }
  if (names.size === 0) return;
  void cache.invalidateQueries({ queryKey: ["nodes"] });
  for (const name of names) void cache.invalidateQueries({ queryKey: ["node", name] });
}

function readAll(cache: QueryClient): void {
  void cache.invalidateQueries({ queryKey: ["nodes"] });
  void cache.invalidateQueries({ queryKey: ["node"] });
}

/** The stream of every page about nodes. */
export function useNodesLive(on = true): LiveState {
  const cache = useQueryClient();
  return useLive(
    on ? "/api/v1/events/nodes" : null,
    (events) => applyNodeEvents(cache, events),
    (resumed) => {
      if (!resumed) readAll(cache);
    },
  );
}
