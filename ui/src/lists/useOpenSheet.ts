import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { ListSearch } from "./listSearch";

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

const CLOSED = { open: undefined, add: undefined, sheet: undefined };

/** Which sheet of a list page is open. It is in the address, so that a link opens it too. */
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

/** The same for another sheet of a page than those of its entries, by its own word. */
export function useSheet(word: string) {
  const [search, set] = useListSearch();
  return {
    shown: search.sheet === word,
    show: () => set({ sheet: word }, true),
    hide: () => set({ sheet: undefined }),
  };
}
