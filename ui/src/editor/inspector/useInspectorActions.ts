import { useMemo, useRef } from "react";
import { useToast } from "@/components/Toast";
import { whyNotOrder } from "../canvas/connections";
import type { Catalogue } from "../model/catalogue";
import type { Doc, Step } from "../model/document";
import { addNeed, changeStep, removeNeed, renameStep, withKind } from "../model/edit";
import { setFieldAndOrder } from "../model/references";
import type { Session } from "../session/session";
import type { UnparsedInputs } from "../session/unparsedInputs";
import type { UndoGrouping } from "../session/useUndoGrouping";
import type { InspectorActions } from "./inspectorProps";

type Given = {
  session: Session;
  catalogue: Catalogue;
  step?: Step;
  stroke: UndoGrouping;
  unread: UnparsedInputs;
  rename: (names: Map<string, string>) => void;
};

/** The inspector's edits, as stable callbacks, so that it seldom renders again. */
export function useInspectorActions(given: Given): InspectorActions {
  const say = useToast();
  const now = useRef({ ...given, say });
  now.current = { ...given, say };
  return useMemo(() => {
    const change = (next: Doc, kind?: string) => now.current.session.change(next, kind);
    return {
      onChange: (path, value) => {
        const { session, catalogue, step, stroke } = now.current;
        // Without a step it is a field of the pipeline itself.
        if (!step) return change({ ...session.doc, [path]: value }, stroke.typed(path));
        const next = setFieldAndOrder(session.doc, catalogue, step.key, path, value);
        change(next, stroke.typed(`${step.key} ${path}`));
      },
      onStep: (edit) => {
        const { session, step } = now.current;
        if (step) change(changeStep(session.doc, step.key, edit));
      },
      onKind: (kind) => {
        const { session, step } = now.current;
        if (step) change(changeStep(session.doc, step.key, (one) => withKind(one, kind)));
      },
      onRename: (from, to) => {
        const { session, unread, rename } = now.current;
        change(renameStep(session.doc, from, to));
        unread.rename(from, to);
        rename(new Map([[from, to]]));
      },
      onNeed: (from, to) => {
        const { session, say } = now.current;
        const no = whyNotOrder(session.doc, from, to);
        if (no) say("failed", no);
        else change(addNeed(session.doc, from, to));
      },
      onLetGo: (from, to) => change(removeNeed(now.current.session.doc, from, to)),
    };
  }, []);
}
