import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { PageSearch } from "./search";

/** Changes what the page keeps in its address. The place stays, and Back leads to the page before. */
export function useSearchChange(): (change: PageSearch) => void {
  const navigate = useNavigate();
  return useCallback(
    (change: PageSearch) =>
      void navigate({
        to: ".",
        params: (before: object) => before,
        search: (before: object) => ({ ...before, ...change }),
        replace: true,
      }),
    [navigate],
  );
}

/** The page's own address after such a change, to be sent to others. */
export function addressOf(change: PageSearch): string {
  const url = new URL(window.location.href);
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) url.searchParams.delete(key);
    else url.searchParams.set(key, String(value));
  }
  return url.href;
}
