import { useEffect, useMemo, useRef } from "react";

const TYPED = "input:not([type=checkbox], [type=radio]), textarea";

export type UndoGrouping = {
  /** For a field: one kind while the person types in it; none for a button or check box. */
  typed: (what: string) => string | undefined;
  /** For moving steps: each drag is a kind of its own, consecutive arrow keys share one. */
  moved: (what: string) => string;
};

/**
 * Decides which edits form one undo entry. A change of focus or a pointer press starts a new one.
 */
export function useUndoGrouping(): UndoGrouping {
  const turn = useRef(0);
  useEffect(() => {
    const next = () => {
      turn.current++;
    };
    const events = ["focusin", "focusout", "pointerdown"] as const;
    for (const event of events) document.addEventListener(event, next, true);
    return () => {
      for (const event of events) document.removeEventListener(event, next, true);
    };
  }, []);
  return useMemo(
    () => ({
      typed: (what) =>
        document.activeElement?.matches(TYPED) ? `${turn.current} ${what}` : undefined,
      moved: (what) => `${turn.current} move ${what}`,
    }),
    [],
  );
}
