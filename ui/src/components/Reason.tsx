import { type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";

/** Between the button and what it says, and the least way to the window's edge, in px. */
const GAP = 6;

/**
 * Why a button can't be used, told when the keyboard comes to it and when it is pressed: the pointer's
 * tooltip is never seen on a touch screen. `show` tells it now; the rest goes to the button.
 */
export function useReason(reason: string | undefined, anchor: RefObject<HTMLElement | null>) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const told = reason !== undefined && reason !== "" && open;
  const hide = () => setOpen(false);
  useLeaving(told, anchor, hide);
  return {
    show: () => setOpen(true),
    described: told ? id : undefined,
    onFocus: () => anchor.current?.matches(":focus-visible") && setOpen(true),
    onBlur: hide,
    tip: told ? <Tip id={id} anchor={anchor} text={reason} /> : null,
  };
}

/** Escape takes it away and nothing else; so do a press elsewhere, and whatever moves the button. */
function useLeaving(told: boolean, anchor: RefObject<HTMLElement | null>, hide: () => void) {
  useEffect(() => {
    if (!told) return;
    const elsewhere = (event: Event) => {
      if (!anchor.current?.contains(event.target as Node)) hide();
    };
    const dismiss = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      hide();
    };
    window.addEventListener("pointerdown", elsewhere, true);
    window.addEventListener("keydown", dismiss, true);
    window.addEventListener("scroll", hide, true);
    window.addEventListener("resize", hide);
    return () => {
      window.removeEventListener("pointerdown", elsewhere, true);
      window.removeEventListener("keydown", dismiss, true);
      window.removeEventListener("scroll", hide, true);
      window.removeEventListener("resize", hide);
    };
  }, [told]);
}

type TipProps = { id: string; anchor: RefObject<HTMLElement | null>; text: string };

/**
 * Outside of its button's row or panel, which would cut it off, but in the same landmark or dialog,
 * where screen readers look. It takes no press from what is below.
 */
function Tip({ id, anchor, text }: TipProps) {
  const self = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (anchor.current && self.current) place(self.current, anchor.current.getBoundingClientRect());
  });
  const home = anchor.current?.closest("[role=dialog], [role=alertdialog]");
  return createPortal(
    <div ref={self} id={id} role="tooltip" className="tip">
      {text}
    </div>,
    home ?? document.querySelector("main") ?? document.body,
  );
}

/** Below what it belongs to, above where there is no room, always within the window. */
function place(tip: HTMLElement, at: DOMRect) {
  tip.style.left = tip.style.top = "0";
  // A dialog that is moved by a transform counts from its own edge, not from the window's.
  const from = tip.getBoundingClientRect();
  const below = at.bottom + GAP + from.height <= window.innerHeight;
  const most = window.innerWidth - from.width - GAP;
  const left = Math.max(GAP, Math.min(at.left, most));
  const top = below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - from.height);
  tip.style.left = `${left - from.left}px`;
  tip.style.top = `${top - from.top}px`;
}
