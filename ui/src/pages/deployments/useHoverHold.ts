import { type FocusEvent, type PointerEvent, useState } from "react";

/** Whether the pointer or the focus is inside a list; spread `on` on its container. */
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
