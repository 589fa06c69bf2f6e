import { useReactFlow } from "@xyflow/react";
import type { RefObject } from "react";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import { focusField } from "./canvas/connections";
import { useKeyboardNavigation } from "./canvas/useKeyboardNavigation";
import { copySteps } from "./model/clipboard";
import { allIds } from "./model/edit";
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
  useShortcuts({
    find: () => find.current?.focus(),
    fit: () => void flow.fitView({ padding: 0.15, maxZoom: 1 }),
    tidy: () => void actions.lay(),
    undo: () => session.undo(),
    redo: () => session.redo(),
    all: () => choose(allIds(doc), NOTHING),
    remove: actions.remove,
    duplicate: () => actions.insert(copySteps(doc, chosen), { x: 32, y: 32 }),
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
    pasted: (text) => actions.insert(text, { x: 40, y: 40 }),
    escape: () => choose(NOTHING, NOTHING),
    ...walking,
  });
}
