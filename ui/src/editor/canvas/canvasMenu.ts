import { copyText } from "@/components/Copy";
import { menuTexts } from "@/editor/canvas/menuTexts";
import { editorTexts } from "@/editor/editorTexts";
import { copySteps } from "../model/clipboard";
import type { Spot } from "../model/document";
import { allIds } from "../model/edit";
import type { Editing } from "../useEditing";
import type { MenuAct, MenuTarget } from "./canvasFloat";
import { focusField } from "./connections";

const t = editorTexts;
const NOTHING = new Set<string>();

type Given = {
  editing: Editing;
  /** Where the menu was asked for, in the window and in the drawing. */
  at: Spot;
  middle: Spot;
  fit: () => void;
  say: (kind: "done" | "failed", text: string) => void;
};

/** The acts of a context menu. Each is also on a key or a button. */
export function menuActs(target: MenuTarget, given: Given): MenuAct[] {
  if (target.kind === "item") return itemActs(target.ids, given);
  return target.kind === "line" ? lineActs(target.id, given) : canvasActs(given);
}

function itemActs(ids: Set<string>, { editing, at, say }: Given): MenuAct[] {
  const { session, actions } = editing;
  const [only] = ids.size === 1 ? ids : [];
  const isStep = only !== undefined && !only.startsWith("#");
  const copied = () => copySteps(session.doc, ids);
  const copy = async () => {
    if (await copyText(copied())) say("done", t.copied(ids.size));
  };
  const hasSteps = [...ids].some((id) => !id.startsWith("#"));
  const duplicate = () => void actions.insert(copied(), { x: 32, y: 32 });
  return [
    ...(isStep
      ? [
          { label: menuTexts.openStep, keys: "Enter", run: () => focusField("key") },
          {
            label: menuTexts.addAfter,
            run: () => actions.openPicker(at, { node: only, handle: "after", type: "source" }),
          },
          {
            label: menuTexts.runHere,
            run: () => {
              editing.choice.choose(new Set([only]), NOTHING);
              editing.panels.show("dryRun");
            },
          },
        ]
      : []),
    { label: menuTexts.copy, keys: "Ctrl C", begins: isStep, run: () => void copy() },
    { label: menuTexts.duplicate, keys: "Ctrl D", run: duplicate },
    ...(hasSteps
      ? [{ label: menuTexts.group, keys: "Ctrl G", run: () => actions.group(ids) }]
      : []),
    { label: menuTexts.remove, keys: "Del", begins: true, run: actions.remove },
  ];
}

function lineActs(id: string, { editing }: Given): MenuAct[] {
  const remove = () => editing.actions.removeLines(new Set([id]));
  return [{ label: menuTexts.removeLine, keys: "Del", run: remove }];
}

function canvasActs({ editing, at, middle, fit, say }: Given): MenuAct[] {
  const { session, choice, actions } = editing;
  const paste = async () => {
    const text = await navigator.clipboard.readText().catch(() => undefined);
    if (text === undefined) say("failed", menuTexts.noClipboard);
    else void actions.insert(text, { x: 40, y: 40 }, middle);
  };
  const add = () => actions.setFloat({ kind: "picker", at, middle });
  const all = () => choice.choose(allIds(session.doc), NOTHING);
  return [
    { label: menuTexts.addHere, keys: "A", run: add },
    { label: menuTexts.comment, run: () => actions.add("comment", middle) },
    { label: menuTexts.paste, keys: "Ctrl V", run: () => void paste() },
    { label: menuTexts.all, keys: "Ctrl A", begins: true, run: all },
    { label: t.tidy, keys: "Shift F", run: () => void actions.lay() },
    { label: menuTexts.fit, keys: "F", run: fit },
  ];
}
