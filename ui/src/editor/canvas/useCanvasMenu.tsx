import { useReactFlow } from "@xyflow/react";
import { copyText } from "@/components/Copy";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import { copySteps } from "../model/clipboard";
import type { Doc, Spot } from "../model/document";
import { allIds } from "../model/edit";
import type { Editing } from "../useEditing";
import type { MenuAct } from "./canvasFloat";
import { focusField } from "./connections";

const t = editorTexts;
const NOTHING = new Set<string>();

/** What was pressed with the other button, or by the menu key. */
export type MenuTarget = { kind: "canvas" } | { kind: "item" | "line"; id: string };

/** Opens the context menu of a step, a line, or the canvas. Each act is also on a key or a button. */
export function useCanvasMenu({ session, choice, actions }: Editing) {
  const flow = useReactFlow();
  const say = useToast();
  const onItems = (ids: Set<string>, at: Spot): MenuAct[] => {
    const [only] = ids.size === 1 ? ids : [];
    const isStep = only !== undefined && !only.startsWith("#");
    const copy = async () => {
      if (await copyText(copySteps(session.doc, ids))) say("done", t.copied(ids.size));
    };
    return [
      ...(isStep
        ? [
            { label: t.openStep, keys: "Enter", run: () => focusField("key") },
            {
              label: t.addAfter,
              run: () =>
                actions.setFloat({
                  kind: "picker",
                  at,
                  from: { node: only, handle: "after", type: "source" },
                }),
            },
          ]
        : []),
      { label: t.menu.copy, keys: "Ctrl C", begins: isStep, run: () => void copy() },
      {
        label: t.menu.duplicate,
        keys: "Ctrl D",
        run: () => actions.insert(copySteps(session.doc, ids), { x: 32, y: 32 }),
      },
      ...groupActs(ids),
      { label: t.menu.remove, keys: "Del", begins: true, run: () => actions.remove() },
    ];
  };
  const groupActs = (ids: Set<string>): MenuAct[] => {
    const steps = [...ids].filter((id) => !id.startsWith("#"));
    return steps.length > 0
      ? [{ label: t.menu.group, keys: "Ctrl G", run: () => actions.group(ids) }]
      : [];
  };
  const onLine = (id: string): MenuAct[] => [
    { label: t.menu.removeLine, keys: "Del", run: () => actions.removeLines(new Set([id])) },
  ];
  const onCanvas = (at: Spot): MenuAct[] => {
    const middle = flow.screenToFlowPosition(at);
    const paste = async () => {
      const text = await navigator.clipboard.readText().catch(() => undefined);
      if (text === undefined) say("failed", t.noClipboard);
      else actions.insert(text, { x: 40, y: 40 }, middle);
    };
    return [
      { label: t.addHere, keys: "A", run: () => actions.setFloat({ kind: "picker", at, middle }) },
      { label: t.menu.comment, run: () => actions.add("comment", middle) },
      { label: t.menu.paste, keys: "Ctrl V", run: () => void paste() },
      {
        label: t.menu.all,
        keys: "Ctrl A",
        begins: true,
        run: () => choice.choose(allIds(session.doc), NOTHING),
      },
      { label: t.tidy, keys: "Shift F", run: () => void actions.lay() },
      { label: t.menu.fit, keys: "F", run: () => void flow.fitView({ padding: 0.06, maxZoom: 1 }) },
    ];
  };
  return (target: MenuTarget, at: Spot) => {
    const { chosen, choose } = choice;
    if (target.kind === "item") {
      const ids = chosen.has(target.id) ? chosen : new Set([target.id]);
      if (ids !== chosen) choose(ids, NOTHING);
      actions.setFloat({
        kind: "menu",
        at,
        label: labelOf(session.doc, ids),
        acts: onItems(ids, at),
      });
    } else if (target.kind === "line") {
      choose(NOTHING, new Set([target.id]));
      actions.setFloat({ kind: "menu", at, label: t.menu.line, acts: onLine(target.id) });
    } else actions.setFloat({ kind: "menu", at, label: t.canvas, acts: onCanvas(at) });
  };
}

function labelOf(doc: Doc, ids: Set<string>): string {
  const [only] = ids;
  if (ids.size > 1 || only === undefined) return t.step.many(ids.size);
  return doc.steps.some((step) => step.key === only) ? only : t.commentLabel;
}
