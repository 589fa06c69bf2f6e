import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { type CreateSearch, withChoice } from "./search";

const route = getRouteApi("/app/deployments/new");
/** How long the form is still before it is written down, in ms: browsers refuse too many writes. */
const QUIET = 400;

type Kept = { name?: string; versions: Record<string, string> };

/**
 * Keeps what was typed and chosen in the address, so that a reload or the browser's Back begins with it.
 * While `paused`, the sheet is on its way to another page, and nothing may call it back.
 */
export function useAddress(kept: Kept, paused: boolean) {
  const { history } = useRouter();
  const navigate = route.useNavigate();
  const text = JSON.stringify(kept);
  const written = useRef(text);
  useEffect(() => {
    if (paused || written.current === text) return;
    const { pathname } = history.location;
    const { name, versions }: Kept = JSON.parse(text);
    const search = (before: CreateSearch) => withChoice(before, name, versions);
    const timer = setTimeout(() => {
      if (history.location.pathname !== pathname) return;
      written.current = text;
      void navigate({ to: ".", search, replace: true });
    }, QUIET);
    return () => clearTimeout(timer);
  }, [text, paused, history, navigate]);
}
