import { type FocusEvent, type PointerEvent, useState } from "react";

/** Whether somebody's pointer or focus is in a list; `on` goes to the element around it. */
export function useHoverHold() {
  const [held, setHeld] = useState(false);
  const on = {
    onPointerEnter: () => setHeld(true),
    onPointerLeave: ({ currentTarget }: PointerEvent) =>
      setHeld(currentTarget.contains(document.activeElement)),
    onFocus: () => setHeld(true),
    onBlur: ({ currentTarget, relatedTarget }: FocusEvent) =>
      !currentTarget.contains(relatedTarget) && setHeld(false),
  };
  return { held, on };
}
