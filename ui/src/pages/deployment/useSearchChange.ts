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
