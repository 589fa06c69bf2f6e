import { useEffect, useId } from "react";

/** An act of the page that is open, as the palette shows it. */
export type PageAction = {
  label: string;
  /** Why it can't be done now, and who can change that. */
  reason?: string;
  run: () => void;
};

const all = new Map<string, PageAction>();

/** Offers an act to the palette for as long as its button is shown. */
export function usePageAction(offer: PageAction | undefined) {
  const id = useId();
  useEffect(() => {
    if (offer) all.set(id, offer);
    else all.delete(id);
  });
  useEffect(() => () => void all.delete(id), [id]);
}

/** What the open page offers, in the order its buttons came. */
export function listPageActions(): PageAction[] {
  return [...all.values()];
}
