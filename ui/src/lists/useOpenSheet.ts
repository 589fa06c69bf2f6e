import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { ListSearch } from "./listSearch";

/** The URL search parameters of the current list page, and a setter. */
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

const CLOSED = { open: undefined, add: undefined, sheet: undefined };

/** Which sheet of a list page is open. It is in the URL, so that a link opens it. */
export function useOpenSheet() {
  const [search, set] = useListSearch();
  return {
    opened: search.open,
    adding: search.add === true,
    open: (name: string) => set({ ...CLOSED, open: name }, true),
    add: () => set({ ...CLOSED, add: true }, true),
    close: () => set(CLOSED),
  };
}

/** The same for an additional sheet of a page, by its own parameter. */
export function useSheet(word: string) {
  const [search, set] = useListSearch();
  return {
    shown: search.sheet === word,
    show: () => set({ sheet: word }, true),
    hide: () => set({ sheet: undefined }),
  };
}
