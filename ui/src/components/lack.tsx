import {
  createContext,
  type ReactNode,
  useContext,
  useId,
  useLayoutEffect,
  useSyncExternalStore,
} from "react";

// What a person may not do is not drawn as if they could: its button is left out, and one line of
// the page says what is missing, who can give it, and offers to ask. Why something cannot be done is
// a sentence everywhere; those about missing access are remembered here, with what to ask for.

/** What to ask an admin for: the object as the API names it, and the one it is stored under. */
export type Wish = { object: string; stored: string };

const wishes = new Map<string, Wish | undefined>();

/** Says of a sentence that it is about missing access. Without a wish there is nothing to ask for. */
export function markLack(reason: string, wish?: Wish): string {
  wishes.set(reason, wish);
  return reason;
}

/** Whether a reason is that the person lacks access, and not that the state does not allow it. */
export function isLack(reason: string | undefined): boolean {
  return reason !== undefined && wishes.has(reason);
}

/** What a person lacks who is told this reason. */
export function wishOf(reason: string): Wish | undefined {
  return wishes.get(reason);
}

const shown = new Map<string, string>();
const listeners = new Set<() => void>();

function changed() {
  for (const one of listeners) one();
}

/** Has the page's line say a lack, as long as the component that calls it is there. */
export function useShownLack(reason: string | undefined) {
  const id = useId();
  useLayoutEffect(() => {
    if (!isLack(reason)) return;
    shown.set(id, reason as string);
    changed();
    return () => {
      shown.delete(id);
      changed();
    };
  }, [id, reason]);
}

/** Offers to ask for what a reason says is missing; set by the frame around the pages. */
export const AskSlot = createContext<(reason: string) => ReactNode>(() => null);

/** What is said of all that lacks here: what is about this very object, before what is about any. */
function shownLack(): string | undefined {
  const all = [...shown.values()];
  return all.find((reason) => wishOf(reason)?.stored.includes("/")) ?? all[0];
}

/** One line below the bar of a page, for who may only look. */
export function LackLine() {
  const reason = useSyncExternalStore((listen) => {
    listeners.add(listen);
    return () => listeners.delete(listen);
  }, shownLack);
  const ask = useContext(AskSlot);
  // Who looks through somebody's eyes is told so above the page.
  if (!reason || !wishOf(reason)) return null;
  return (
    <div className="notice t2 lackline" role="note">
      <span className="min-w-0">{reason}</span>
      {ask(reason)}
    </div>
  );
}
