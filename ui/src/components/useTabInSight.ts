import { type RefObject, useEffect, useRef } from "react";

/** Scrolls the current tab into a row of tabs that is wider than the window. */
export function useTabInSight(current: string): RefObject<HTMLElement | null> {
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    const tab = tabs.current?.querySelector("[aria-current]");
    tab?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [current]);
  return tabs;
}
