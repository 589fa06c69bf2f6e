import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import { mergeOne, mergeRead } from "@/api/list";
import { deployments } from "@/api/queries/deployments";
import type { ServerEvent } from "@/api/sse";
import { useLive } from "@/api/useLive";
import { type Group, groupOf } from "./filters";

/** The list, kept in step by its stream: read when the stream opens anew, then changed in place. */
export function useList() {
  const cache = useQueryClient();
  const query = useQuery({
    ...deployments,
    structuralSharing: (known, read) =>
      mergeRead(known as Deployment[] | undefined, read as Deployment[]),
  });
  const onEvents = (events: ServerEvent[]) => {
    const told: Deployment[] = [];
    for (const event of events) {
      if (event.event === "reset") void cache.invalidateQueries({ queryKey: deployments.queryKey });
      else if (event.event === "deployment") told.push(JSON.parse(event.data));
    }
    if (told.length > 0)
      cache.setQueryData(deployments.queryKey, (list) => list && told.reduce(mergeOne, list));
  };
  const opened = (resumed: boolean) => {
    if (!resumed) void cache.invalidateQueries({ queryKey: deployments.queryKey });
  };
  const live = useLive("/api/v1/events", onEvents, opened);
  return { query, live };
}

/**
 * The group each row is shown in. While the pointer or focus is in the list, rows stay where they
 * are; `moved` counts those that would go elsewhere, `settle` lets them.
 */
export function useGroups(rows: Deployment[], held: boolean) {
  const places = useRef(new Map<string, Group>());
  const [, redraw] = useState(0);
  const settle = useCallback(() => {
    places.current.clear();
    redraw((count) => count + 1);
  }, []);
  useEffect(() => {
    if (!held) settle();
  }, [held, settle]);
  let moved = 0;
  const place = (row: Deployment): Group => {
    const now = groupOf(row);
    const before = places.current.get(row.id);
    if (!held || before === undefined) {
      places.current.set(row.id, now);
      return now;
    }
    if (before !== now) moved++;
    return before;
  };
  const placed = rows.map((row) => ({ row, group: place(row) }));
  return { placed, moved, settle };
}
