import { useRouter, useRouterState } from "@tanstack/react-router";
import { useLayoutEffect, useRef, useState } from "react";
import type { Group } from "./filters";

/** The scroll position and the selected row. */
type Spot = { top: number; selected?: string; closed: Partial<Record<Group, boolean>> };

/** By entry of the browser's history, newest last: each Back leads to what was left there. */
const spots = new Map<string, Spot>();
const MOST = 50;

/** The scroll position and row stored for this history entry, and a way to store them. */
export function useScrollRestore() {
  const entry = useEntry();
  const [was] = useState(() => spots.get(entry.current ?? ""));
  const body = useRef<HTMLElement>(null);
  const spot = useRef<Spot>(was ?? { top: 0, closed: {} });
  /** Called by the list with its box once it is drawn: before the box is gone its place is kept. */
  const useKept = (box: () => HTMLElement | null | undefined, now: Omit<Spot, "top">) => {
    spot.current = { ...spot.current, ...now };
    useLayoutEffect(() => {
      body.current = box() ?? null;
      if (body.current && was) body.current.scrollTop = was.top;
      return () => keep(entry.current, { ...spot.current, top: body.current?.scrollTop ?? 0 });
    }, []);
  };
  return { was, useKept };
}

function keep(entry: string | undefined, spot: Spot) {
  if (!entry) return;
  spots.delete(entry);
  spots.set(entry, spot);
  if (spots.size > MOST) spots.delete(spots.keys().next().value as string);
}

/** The list's own entry: the address is already another one while the list is being left. */
function useEntry() {
  const { history } = useRouter();
  const at = useRef<string>(undefined);
  const own = useRouterState({
    select: ({ location: { pathname, state } }) =>
      pathname === "/deployments" ? state.__TSR_key : undefined,
  });
  at.current = own ?? at.current ?? history.location.state.__TSR_key;
  return at;
}
