// What one file of tests left must not reach the next one: they share a document.
import { cleanup, configure } from "@testing-library/react";
import { afterAll, vi } from "vitest";

// The machine may run everything else too: what is waited for may take longer than a second.
configure({ asyncUtilTimeout: 60_000 });

// jsdom draws nothing and knows no media; a window of a test is wide unless the test says otherwise.
if (typeof window !== "undefined")
  window.matchMedia ??= () =>
    ({
      matches: false,
      addEventListener() {},
      removeEventListener() {},
    }) as unknown as MediaQueryList;

afterAll(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  localStorage.clear();
  sessionStorage.clear();
  history.replaceState(null, "", "/");
});
