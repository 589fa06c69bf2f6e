import { useEffect, useRef } from "react";

/** How many lines before the end the next page is asked for, so that scrolling does not wait. */
const NEAR = 20;

/**
 * Calls `more` when the last line in sight is near the end of those that are there, and again for each
 * page that came and was not enough. Without `more` there is nothing to read now.
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
