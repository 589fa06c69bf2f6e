// What one file of tests left must not reach the next one: they share a document.
import { cleanup } from "@testing-library/react";
import { afterAll, vi } from "vitest";

afterAll(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  localStorage.clear();
  sessionStorage.clear();
  history.replaceState(null, "", "/");
});
