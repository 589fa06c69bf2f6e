import { act, renderHook } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Deployment, Progress, Step } from "@/api/client";
import type { LiveState } from "@/api/live";
import { markUnknown, useIsStale } from "./staleState";

afterEach(() => vi.useRealTimers());

const online = {} as Deployment;
const live = (kind: LiveState["kind"]): LiveState => ({ kind, since: 0 });

it("is unknown what was on its way when the link was lost, and nothing else", () => {
  const steps = ["done", "running", "pulling", "undoing", "waiting", "pending", "failed"];
  const known = steps.map((status) => ({ status }) as Step);
  expect(markUnknown(known).map((step) => step.status)).toEqual([
    "done",
    "unknown",
    "unknown",
    "unknown",
    "waiting",
    "pending",
    "failed",
  ]);
});

it("is unknown too what was pulled ahead of its turn, until its image is whole", () => {
  const steps = ["web", "api", "db"].map((key) => ({ key, status: "pending" }) as Step);
  const pulled = (pulled_bytes: number) => ({ pulled_bytes, total_bytes: 9 }) as Progress;
  expect(
    markUnknown(steps, { web: pulled(3), api: pulled(9) }).map(({ status }) => status),
  ).toEqual(["unknown", "pending", "pending"]);
});

it("begins with a link that is away for more than a moment, and ends with it", () => {
  vi.useFakeTimers();
  const { result, rerender } = renderHook(({ state }) => useIsStale(state, online), {
    initialProps: { state: live("live") },
  });
  rerender({ state: live("behind") });
  expect(result.current).toBe(false);
  act(() => void vi.advanceTimersByTime(3000));
  expect(result.current).toBe(true);
  rerender({ state: live("live") });
  expect(result.current).toBe(false);
});

it("is so as long as the node is out of reach", () => {
  const offline = { node_offline_since: "2026-11-21T14:02:00Z" } as Deployment;
  expect(renderHook(() => useIsStale(live("live"), offline)).result.current).toBe(true);
});
