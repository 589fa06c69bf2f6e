import { useEffect } from "react";
import { ignoresKey, useKeys } from "@/components/Shell";

const ways: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/**
 * J and K lead to the next step and the one before. The arrows do so too where nothing else needs them:
 * on the steps themselves, which the focus follows, and where nothing has the focus.
 */
export function useStepKeys(move: (by: number) => string | undefined) {
  useKeys({ j: () => void move(1), k: () => void move(-1) });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const by = ways[event.key];
      const steps = (event.target as HTMLElement).closest?.("[data-steps]");
      if (!by || event.shiftKey || ignoresKey(event)) return;
      if (!steps && event.target !== document.body) return;
      event.preventDefault();
      const key = move(by);
      if (steps && key) focusOn(steps, key);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}

/** The graph moves by itself, not by the browser's scrolling. */
function focusOn(steps: Element, key: string) {
  const all = steps.querySelectorAll<HTMLElement>("[data-step]");
  [...all].find((one) => one.dataset.step === key)?.focus({ preventScroll: true });
}
