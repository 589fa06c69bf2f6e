import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

const AWAY = ["BACK", "FORWARD", "GO"];

/**
 * Intercepts the browser's Back and Forward: `away` is called, and returning true blocks the
 * navigation. The page's own navigation is not intercepted.
 */
export function useLeaveGuard(away: () => boolean) {
  const history = useRouter({ warn: false })?.history;
  const ask = useRef(away);
  useEffect(() => {
    ask.current = away;
  });
  useEffect(
    () =>
      history?.block({
        blockerFn: ({ action }) => AWAY.includes(action) && ask.current(),
        enableBeforeUnload: false,
      }),
    [history],
  );
}
