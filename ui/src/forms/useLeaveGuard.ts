import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

const AWAY = ["BACK", "FORWARD", "GO"];

/**
 * Holds the browser's Back and Forward: `away` says what becomes of the wish to leave, and returns
 * true for staying. Closing by the page's own acts is not held.
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
