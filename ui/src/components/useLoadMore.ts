import { useEffect, useRef } from "react";

/** How many lines before the end the next page is asked for, so that scrolling does not wait. */
const NEAR = 20;

/**
 * Calls `more` when the last visible line is near the end of the loaded ones, and again after each
 * page that was too short. Without `more` there is nothing to load now.
 */
export function useLoadMore(last: number, count: number, more?: () => void) {
  const read = useRef(more);
  useEffect(() => {
    read.current = more;
  });
  const wanted = last >= count - NEAR && more !== undefined;
  useEffect(() => {
    if (wanted) read.current?.();
  }, [wanted, count]);
}
