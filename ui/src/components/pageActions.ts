import { useEffect, useId } from "react";

/** An action of the open page, as the command palette lists it. */
export type PageAction = {
  label: string;
  /** Why it can't be done now, and who can change that. */
  reason?: string;
  run: () => void;
};

const all = new Map<string, PageAction>();

/** Lists an action in the command palette while its button is mounted. */
export function usePageAction(offer: PageAction | undefined) {
  const id = useId();
  useEffect(() => {
    if (offer) all.set(id, offer);
    else all.delete(id);
  });
  useEffect(() => () => void all.delete(id), [id]);
}

/** The actions of the open page, in mount order. */
export function listPageActions(): PageAction[] {
  return [...all.values()];
}
