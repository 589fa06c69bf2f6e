import { type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";

/** Between the button and what it says, and the least way to the window's edge, in px. */
const GAP = 6;

/**
 * Shows why a button is disabled, on keyboard focus and on press, since touch screens show no
 * tooltip. `show` shows it now; spread the other props on the button.
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

/** Escape takes it away and nothing else; so does a press elsewhere. */
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
    return () => {
      window.removeEventListener("pointerdown", elsewhere, true);
      window.removeEventListener("keydown", dismiss, true);
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
  const put = () => {
    if (anchor.current && self.current)
      positionTip(self.current, anchor.current.getBoundingClientRect());
  };
  useLayoutEffect(put);
  useMoving(anchor, put);
  const home = anchor.current?.closest("[role=dialog], [role=alertdialog]");
  return createPortal(
    <div ref={self} id={id} role="tooltip" className="tip">
      {text}
    </div>,
    home ?? document.querySelector("main") ?? document.body,
  );
}

/**
 * Whatever moves the button takes the words along: the keyboard's focus often scrolls it into sight.
 * A log beside it that follows its end scrolls each second and moves nothing of it.
 */
function useMoving(anchor: RefObject<HTMLElement | null>, put: () => void) {
  useEffect(() => {
    const scrolled = ({ target }: Event) => {
      if (target instanceof Node && target.contains(anchor.current)) put();
    };
    window.addEventListener("scroll", scrolled, true);
    window.addEventListener("resize", put);
    return () => {
      window.removeEventListener("scroll", scrolled, true);
      window.removeEventListener("resize", put);
    };
  }, []);
}

/**
 * Below what it belongs to, above where there is no room, always within the window; unseen while
 * that is scrolled out of it.
 */
function positionTip(tip: HTMLElement, at: DOMRect) {
  const away = at.bottom < 0 || at.top > window.innerHeight;
  tip.style.visibility = away ? "hidden" : "";
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
