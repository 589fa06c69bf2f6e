// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import type { Session } from "./session";
import { watchWindow } from "./useSession";

const session = (kept: boolean) => {
  const look = vi.fn(async () => {});
  return { look, keepHere: () => kept, flush: async () => {} } as unknown as Session & {
    look: typeof look;
  };
};

function leaves(): boolean {
  return window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
}

afterEach(() => vi.useRealTimers());

it("warns who leaves a page whose work is kept nowhere else", () => {
  const forget = watchWindow(session(false));
  expect(leaves()).toBe(false);
  forget();
  const other = watchWindow(session(true));
  expect(leaves()).toBe(true);
  other();
});

it("asks for what is new when somebody comes back, and once a minute", () => {
  vi.useFakeTimers();
  const seen = session(true);
  const forget = watchWindow(seen);
  window.dispatchEvent(new Event("focus"));
  expect(seen.look).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(60_000);
  expect(seen.look).toHaveBeenCalledTimes(2);
  forget();
  vi.advanceTimersByTime(120_000);
  expect(seen.look).toHaveBeenCalledTimes(2);
});
