import { type ReactNode, useEffect, useRef } from "react";

type Props = { act: (root: HTMLElement) => void; className?: string; children: ReactNode };

/** Shows what a component becomes by somebody's doing: pressed, typed into, scrolled, looked at. */
export function Acted({ act, className, children }: Props) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (root.current) act(root.current);
  }, []);
  return (
    <div ref={root} className={className}>
      {children}
    </div>
  );
}

/** Presses the first button that a selector finds. */
export const press = (selector: string) => (root: HTMLElement) =>
  root.querySelector<HTMLElement>(selector)?.click();

/** Types into a field as a browser does, so that React hears of it. */
export const type = (selector: string, text: string) => (root: HTMLElement) => {
  const field = root.querySelector<HTMLInputElement>(selector);
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set;
  if (!field || !set) return;
  set.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
};

/** Draws what a selector finds as it looks under the pointer, or with the focus. */
export const look = (selector: string, as: "hover" | "focus") => (root: HTMLElement) => {
  const found = root.querySelector<HTMLElement>(selector);
  if (found) found.dataset.look = as;
};
