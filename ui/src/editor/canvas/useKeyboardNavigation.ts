import { useReactFlow } from "@xyflow/react";
import { orderOf } from "../model/catalogue";
import type { Doc } from "../model/document";

type Given = { doc: Doc; only?: string; choose: (nodes: Set<string>, edges: Set<string>) => void };

const NOTHING = new Set<string>();
/**
 * A step is rendered only once it is in view: how often, and at what interval in ms, we look for
 * its element.
 */
const TRIES = 20;
const APART = 16;

/** Moves the selection from step to step in run order, including steps that are out of view. */
export function useKeyboardNavigation({ doc, only, choose }: Given) {
  const flow = useReactFlow();
  const go = (key: string | undefined) => {
    const at = key === undefined ? undefined : flow.getNode(key);
    if (!at || key === undefined) return;
    const { width = 0, height = 0 } = at;
    const centre = { x: at.position.x + width / 2, y: at.position.y + height / 2 };
    void flow.setCenter(centre.x, centre.y, { zoom: flow.getZoom() });
    choose(new Set([key]), NOTHING);
    focusNode(key);
  };
  return {
    next: () => go(adjacentStep(doc, only, 1)),
    previous: () => go(adjacentStep(doc, only, -1)),
    /** Moves the focus from the inspector to its step on the canvas. */
    back: () => go(only),
  };
}

/**
 * The next (1) or previous (-1) step in run order, wrapping around; the first or last without a
 * selection.
 */
export function adjacentStep(doc: Doc, only: string | undefined, by: 1 | -1): string | undefined {
  const order = orderOf(doc);
  const at = only === undefined ? -1 : order.indexOf(only);
  if (at < 0) return by > 0 ? order[0] : order[order.length - 1];
  return order[(at + by + order.length) % order.length];
}

/** Moves the focus to a step once it is drawn. */
export function focusNode(key: string, left = TRIES, part?: string) {
  const node = document.querySelector<HTMLElement>(
    `.react-flow__node[data-id="${CSS.escape(key)}"]`,
  );
  const what = part ? node?.querySelector<HTMLElement>(part) : node;
  if (what) what.focus({ preventScroll: true });
  else if (left > 0) setTimeout(() => focusNode(key, left - 1, part), APART);
}

/** Moves the focus to the canvas itself, where keys act on the selection. */
export function focusCanvas() {
  document.querySelector<HTMLElement>(".cv")?.focus({ preventScroll: true });
}
