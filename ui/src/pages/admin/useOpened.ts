import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { ListSearch } from "./search";

/** The search of whatever list page is shown, and a way to change parts of it. */
export function useListSearch(): [ListSearch, (change: ListSearch, push?: boolean) => void] {
  const search = useSearch({ strict: false }) as ListSearch;
  const navigate = useNavigate();
  const set = useCallback(
    (change: ListSearch, push = false) =>
      void navigate({
        to: ".",
        search: ((before: ListSearch) => drop({ ...before, ...change })) as never,
        replace: !push,
      }),
    [navigate],
  );
  return [search, set];
}

function drop(search: ListSearch): ListSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ""),
  );
}

/** Which sheet of a list page is open. It is in the address, so that a link opens it too. */
export function useOpened() {
  const [search, set] = useListSearch();
  return {
    opened: search.open,
    adding: search.add === true,
    open: (name: string) => set({ open: name, add: undefined }, true),
    add: () => set({ add: true, open: undefined }, true),
    close: () => set({ open: undefined, add: undefined }),
  };
}
