import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { stepOf } from "../model/document";
import type { State } from "../session/drawing";

type Ids = Set<string>;
export type Selection = ReturnType<typeof useSelection>;
const NOTHING: Ids = new Set();

/**
 * The selection on the canvas, mirrored in the URL. When a merge renames a selected step or
 * comment, the selection follows, so that a person who is typing in it can continue.
 */
export function useSelection(
  state: State,
  first: string | undefined,
  tell: (step?: string) => void,
) {
  const [drawn, setChosen] = useState<Ids>(() => (first ? new Set([first]) : NOTHING));
  const [chosenEdges, setEdges] = useState<Ids>(NOTHING);
  /** Stays the same while one item is selected, also when it is renamed. */
  const [turn, setTurn] = useState(0);
  const { renamed } = state;
  const [seen, setSeen] = useState(renamed);
  const focused = useRef<Focused>(undefined);
  const chosen = renamed && renamed !== seen ? renameIds(drawn, renamed) : drawn;
  // No render in between: a field would show the other step's value for a moment.
  if (renamed !== seen) {
    focused.current = focusedIn();
    setSeen(renamed);
    setChosen(chosen);
    setEdges(NOTHING);
  }
  const now = useRef(chosen);
  now.current = chosen;
  useLayoutEffect(() => {
    if (!seen) return;
    tell(stepIn(now.current));
    focusAgain(focused.current, seen);
  }, [seen, tell]);

  const choose = useCallback(
    (nodes: Ids, edges: Ids) => {
      if (onlyId(nodes) !== onlyId(now.current)) setTurn((last) => last + 1);
      setChosen(nodes);
      setEdges(edges);
      tell(stepIn(nodes));
    },
    [tell],
  );
  const rename = useCallback(
    (names: Map<string, string>) => {
      const next = renameIds(now.current, names);
      setChosen(next);
      setEdges(NOTHING);
      tell(stepIn(next));
    },
    [tell],
  );
  const only = onlyId(chosen);
  const step = only === undefined ? undefined : stepOf(state.history.now, only);
  return { chosen, chosenEdges, only, step, turn, choose, rename };
}

type Focused = { node: string; from: number; to: number } | undefined;

/** The comment that has the focus on the canvas, and the caret's position. */
function focusedIn(): Focused {
  const field = document.activeElement;
  if (!(field instanceof HTMLTextAreaElement)) return undefined;
  const node = field.closest(".react-flow__node")?.getAttribute("data-id");
  return node ? { node, from: field.selectionStart, to: field.selectionEnd } : undefined;
}

function focusAgain(focused: Focused, names: Map<string, string>) {
  const id = focused && names.get(focused.node);
  if (!focused || !id) return;
  const field = document.querySelector<HTMLTextAreaElement>(
    `.react-flow__node[data-id="${id}"] textarea`,
  );
  field?.focus();
  field?.setSelectionRange(focused.from, focused.to);
}

function renameIds(ids: Ids, names: Map<string, string>): Ids {
  return new Set([...ids].map((id) => names.get(id) ?? id).filter((id) => id !== ""));
}

function onlyId(ids: Ids): string | undefined {
  return ids.size === 1 ? [...ids][0] : undefined;
}

function stepIn(ids: Ids): string | undefined {
  const only = onlyId(ids);
  return only?.startsWith("#") ? undefined : only;
}
