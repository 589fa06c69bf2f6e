import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
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
  const [settled, setSettled] = useState(0);
  const settle = useCallback(() => {
    places.current.clear();
    setSettled((count) => count + 1);
  }, []);
  useEffect(() => {
    if (!held) settle();
  }, [held, settle]);
  // Scrolling draws the list anew many times a second, with the same rows.
  const { placed, moved } = useMemo(() => place(rows, places.current, held), [rows, held, settled]);
  return { placed, moved, settle };
}

/** Gives each row its group, and remembers it in `places`. */
function place(rows: Deployment[], places: Map<string, Group>, held: boolean) {
  let moved = 0;
  const placed = rows.map((row) => {
    const now = groupOf(row);
    const before = places.get(row.id);
    if (!held || before === undefined) {
      places.set(row.id, now);
      return { row, group: now };
    }
    if (before !== now) moved++;
    return { row, group: before };
  });
  return { placed, moved };
}
