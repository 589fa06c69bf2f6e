import { useEffect, useRef } from "react";

/**
 * Does something only while the component is still there. What answers late must not close the sheet
 * that somebody opened since.
 */
export function useWhileShown(act: () => void): () => void {
  const shown = useRef(false);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  return () => {
    if (shown.current) act();
  };
}
