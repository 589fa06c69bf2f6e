import type { KeyboardEvent, ReactNode } from "react";

type Props = {
  /** Saves what is in the fields, if it can be saved now. */
  act: () => void;
  className?: string;
  children: ReactNode;
};

/**
 * Fields inside a sheet's form that are saved separately. Without this, Enter in one of them would
 * submit the outer form, close the sheet and lose the input.
 */
export function SeparateForm({ act, className, children }: Props) {
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const { target } = event;
    if (event.key !== "Enter" || !event.currentTarget.contains(target as Node)) return;
    const held = event.ctrlKey || event.metaKey;
    if (!held && !(target instanceof HTMLInputElement)) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Enter in any of its fields is meant
    <div className={className} onKeyDown={keys}>
      {children}
    </div>
  );
}
