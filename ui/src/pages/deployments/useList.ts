import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLayoutEffect, useRef } from "react";
import type { Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { mergeTold } from "@/api/mergeDeployments";
import { deployments } from "@/api/queries/deployments";
import type { ServerEvent } from "@/api/sse";
import { useLive } from "@/api/useLive";

const { queryKey } = deployments;

/** The list, kept in step by its stream: read when the stream says so, then changed in place. */
export function useList() {
  const cache = useQueryClient();
  const query = useQuery(deployments);
  const told = useWhileRead(cache, query.isFetching);
  const onEvents = (events: ServerEvent[]) => {
    const heard: Deployment[] = [];
    for (const event of events) {
      if (event.event === "reset") told.reset();
      else if (event.event === "deployment") heard.push(JSON.parse(event.data));
    }
    if (heard.length > 0) told.tell(heard);
    // Where it stands among the records only the server knows.
    if (heard.some((one) => hasEnded(one.status)))
      void cache.invalidateQueries({ queryKey: [...queryKey, "records"] });
  };
  const live = useLive("/api/v1/events", onEvents);
  return { query, live };
}

/**
 * Events that arrive while the list is being read may be newer than the response, so they are
 * applied again after it. A read that started before the stream would miss the events in between.
 */
function useWhileRead(cache: QueryClient, reading: boolean) {
  const meanwhile = useRef<Deployment[]>([]);
  const again = useRef(false);
  const isRead = () => cache.isFetching({ queryKey, exact: true }) > 0;
  const change = (told: Deployment[]) =>
    cache.setQueryData(queryKey, (list) => list && mergeTold(list, told));
  const read = () => void cache.invalidateQueries({ queryKey });
  // Each time it is drawn: a read that is over at once was never drawn as one.
  useLayoutEffect(() => {
    if (reading || isRead()) return;
    const waiting = meanwhile.current.splice(0);
    if (waiting.length > 0) change(waiting);
    if (again.current) read();
    again.current = false;
  });
  return {
    tell: (told: Deployment[]) => {
      if (isRead()) meanwhile.current.push(...told);
      change(told);
    },
    reset: () => {
      if (isRead()) again.current = true;
      else read();
    },
  };
}
