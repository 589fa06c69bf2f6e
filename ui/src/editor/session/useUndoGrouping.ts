import { useEffect, useMemo, useRef } from "react";

const TYPED = "input:not([type=checkbox], [type=radio]), textarea";

export type UndoGrouping = {
  /** For what a field gives: one kind while somebody types in it, none for what a button does. */
  typed: (what: string) => string | undefined;
  /** For what moves: each drag is of its own kind, arrow keys one after the other are of one. */
  moved: (what: string) => string;
};

/**
 * Which edits are one to whoever makes them, and so to undo. The focus and the pointer tell: when
 * either goes elsewhere or comes anew, what follows is another edit.
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
