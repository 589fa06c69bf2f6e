import { useReactFlow } from "@xyflow/react";
import { type RefObject, useEffect, useRef } from "react";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import { spotOf } from "./canvas/canvasNodes";
import { focusField } from "./canvas/connections";
import { useKeyboardNavigation } from "./canvas/useKeyboardNavigation";
import { copySteps } from "./model/clipboard";
import type { Spot } from "./model/document";
import { allIds, commentId, moveItems } from "./model/edit";
import { withMembers } from "./model/groups";
import type { Editing } from "./useEditing";
import { useShortcuts } from "./useShortcuts";

const t = editorTexts;
const NOTHING = new Set<string>();

/** The keys of the editor, and the clipboard. */
export function useEditorKeys(editing: Editing, find: RefObject<HTMLInputElement | null>) {
  const { session, doc, choice, actions, sheets, whyNot } = editing;
  const { chosen, only, choose } = choice;
  const flow = useReactFlow();
  const say = useToast();
  const walking = useKeyboardNavigation({ doc, only, choose });
  const pointer = usePointerOver(".cv");
  /** The picker in the middle of the canvas, where the list beside it is folded away. */
  const pickInSight = () => {
    const box = document.querySelector(".cv")?.getBoundingClientRect();
    if (box) actions.setFloat({ kind: "picker", at: { x: box.left + 8, y: box.top + 8 } });
  };
  useShortcuts({
    find: () => {
      if (find.current) find.current.focus();
      else pickInSight();
    },
    search: () => editing.searching.open(),
    group: () => actions.group(chosen),
    move: (event) => moveChosen(editing, event),
    fit: () => void flow.fitView({ padding: 0.06, maxZoom: 1 }),
    tidy: () => void actions.lay(),
    undo: () => session.undo(),
    redo: () => session.redo(),
    all: () => choose(allIds(doc), NOTHING),
    remove: actions.remove,
    duplicate: () => void actions.insert(copySteps(doc, chosen), { x: 32, y: 32 }),
    open: () => focusField("key"),
    connect: () => focusField("needs", "[data-connect]"),
    problem: editing.showNextProblem,
    save: () => void session.flush(),
    publish: () => {
      if (whyNot) say("failed", whyNot);
      else if (!sheets.publishing) void sheets.publish();
    },
    copied: () => {
      if (chosen.size === 0) return undefined;
      say("done", t.copied(chosen.size));
      return copySteps(doc, chosen);
    },
    pasted: (text) => {
      const at = pointer.current;
      void actions.insert(text, { x: 40, y: 40 }, at && flow.screenToFlowPosition(at));
    },
    escape: () => choose(NOTHING, NOTHING),
    ...walking,
  });
}

const WAYS: Record<string, Spot> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
/** How far an arrow key moves, and with Shift. */
const STEP = 5;
const FAR = 20;

/** Moves what is chosen, wherever the focus is. */
function moveChosen({ session, choice, stroke, change }: Editing, event: KeyboardEvent) {
  const way = WAYS[event.key];
  const { doc } = session;
  const ids = withMembers(doc, choice.chosen);
  if (!way || ids.size === 0) return;
  const by = event.shiftKey ? FAR : STEP;
  const shift = ({ x, y }: Spot) => ({ x: x + way.x * by, y: y + way.y * by });
  const spots = new Map<string, Spot>();
  for (const [at, step] of doc.steps.entries())
    if (ids.has(step.key)) spots.set(step.key, shift(spotOf(step, at)));
  for (const [at, comment] of doc.comments.entries())
    if (ids.has(commentId(at))) spots.set(commentId(at), shift(spotOf(comment, at)));
  change(moveItems(doc, spots), stroke.moved([...spots.keys()].sort().join(",")));
}

/** Where in the window the pointer is, while it is over something. */
function usePointerOver(selector: string) {
  const at = useRef<Spot>(undefined);
  useEffect(() => {
    const moved = ({ target, clientX: x, clientY: y }: PointerEvent) => {
      at.current = (target as Element).closest?.(selector) ? { x, y } : undefined;
    };
    window.addEventListener("pointermove", moved, { passive: true });
    return () => window.removeEventListener("pointermove", moved);
  }, [selector]);
  return at;
}
