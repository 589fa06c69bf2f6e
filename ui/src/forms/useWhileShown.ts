import { useEffect, useRef } from "react";

/**
 * Calls `act` only while the component is mounted: a late response must not close a sheet that was
 * opened since.
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
