import { useReactFlow } from "@xyflow/react";
import { useState } from "react";
import { loadChunk } from "@/components/loadChunk";
import { useToast } from "@/components/Toast";
import { editorTexts as t } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";
import type { Doc, Spot, Step } from "../model/document";
import { addComment, addStep, commentId, moveItems, removeSelected } from "../model/edit";
import { groupSteps } from "../model/groups";
import type { CanvasContext } from "./canvasContext";
import type { CanvasFloat } from "./canvasFloat";
import { removeEdge } from "./edges";
import { placeAfter, placeNew, sizeOf } from "./itemBoxes";
import { newStep, viewportCentre, visibleBox } from "./newStep";
import {
  connectionsWith,
  drawConnection,
  obviousConnection,
  type PortEnd,
} from "./stepConnections";
import { layoutSteps } from "./stepGeometry";
import { useConnections } from "./useConnections";
import { focusCanvas, focusNode } from "./useKeyboardNavigation";

const NOTHING = new Set<string>();

/** The edits that can be made on the canvas, by mouse or keyboard. */
export function useCanvasActions(context: CanvasContext) {
  const { session, catalogue, chosen, chosenEdges, choose } = context;
  const flow = useReactFlow();
  const say = useToast();
  const [float, setFloat] = useState<CanvasFloat>();
  const change = (next: Doc) => session.change(next);
  const connecting = useConnections(context, setFloat);

  const remove = () => {
    const cut = [...chosenEdges].reduce(removeEdge, session.doc);
    change(chosen.size > 0 ? removeSelected(cut, chosen) : cut);
    choose(NOTHING, NOTHING);
    focusCanvas();
  };
  const insert = async (text: string, by: Spot, at?: Spot) => {
    const { pasteSteps } = await loadPasting();
    const landing = { by, at, sight: visibleBox(flow), sizeOf: sizeIn(catalogue) };
    const pasted = pasteSteps(session.doc, text, landing);
    if (!pasted) return say("failed", t.nothingToPaste);
    if ("wrong" in pasted) return say("failed", t.pasteWrong(pasted.wrong));
    change(pasted.doc);
    choose(pasted.ids, NOTHING);
  };
  const lay = async () => {
    try {
      const spots = await layoutSteps(session.doc, catalogue);
      // Keeps edits made while the layout library was loading.
      change(moveItems(session.doc, spots));
      setTimeout(() => void flow.fitView({ padding: 0.06, maxZoom: 1 }), 30);
    } catch (error) {
      say("failed", t.untidy(error instanceof Error ? error.message : ""));
    }
  };
  /** Frames these steps; the name is what somebody writes next. */
  const group = (ids: Set<string>) => {
    const steps = session.doc.steps.filter((step) => ids.has(step.key));
    if (steps.length === 0) return say("failed", t.groupNone);
    const { doc, id } = groupSteps(session.doc, ids, steps[0]?.position ?? { x: 0, y: 0 });
    change(doc);
    choose(new Set([id]), NOTHING);
    focusNode(id, undefined, "input");
  };
  const removeLines = (ids: Set<string>) => change([...ids].reduce(removeEdge, session.doc));
  const openPicker = (at: Spot, from?: PortEnd) =>
    setFloat({ kind: "picker", at, from, middle: from ? undefined : inCanvas(at) });
  /** The place of the drawing that somebody pointed at; none beside the canvas. */
  const inCanvas = (at: Spot) =>
    document.elementFromPoint(at.x, at.y)?.closest(".react-flow__pane")
      ? flow.screenToFlowPosition(at)
      : undefined;
  /** A menu is about what is chosen; what is not yet is chosen by it. */
  const openMenu = ({ node, line }: { node?: string; line?: string }, at: Spot) => {
    if (line) choose(NOTHING, new Set([line]));
    const ids = node === undefined || chosen.has(node) ? chosen : new Set([node]);
    if (ids !== chosen) choose(ids, NOTHING);
    const [only] = ids.size === 1 ? ids : [];
    if (line)
      setFloat({ kind: "menu", at, label: t.menuOfLine, target: { kind: "line", id: line } });
    else if (node === undefined)
      setFloat({ kind: "menu", at, label: t.canvas, target: { kind: "canvas" } });
    else {
      const label = only?.startsWith("#") ? t.commentLabel : (only ?? t.step.many(ids.size));
      setFloat({ kind: "menu", at, label, target: { kind: "item", ids } });
    }
  };
  const adding = useAdding(context, connecting.ask);
  return {
    ...adding,
    openPicker,
    openMenu,
    group,
    removeLines,
    remove,
    insert,
    lay,
    float,
    setFloat,
    ...connecting,
  };
}

/** Needed only once something is pasted; loaded before that, since it may happen without a network. */
export const loadPasting = () => loadChunk(() => import("../model/pasteSteps"));

const sizeIn = (catalogue: Catalogue) => (item: object) => sizeOf(item as Step, catalogue);

/** Adding steps and comments: at a place, in sight, or behind the step whose port was pressed. */
function useAdding(
  { session, catalogue, choose }: CanvasContext,
  ask: (ways: ReturnType<typeof connectionsWith>, step: string, at: Spot) => void,
) {
  const flow = useReactFlow();
  const add = (what: string, middle?: Spot) => {
    const { doc } = session;
    const at = middle ?? viewportCentre(flow);
    if (what === "comment") {
      const comment = { text: "", position: at };
      session.change(
        addComment(doc, { ...comment, position: placeNew(comment, at, doc, catalogue) }),
      );
      const id = commentId(session.doc.comments.length - 1);
      choose(new Set([id]), NOTHING);
      focusNode(id);
      return;
    }
    const step = newStep(what, at, catalogue);
    finish(addStep(doc, { ...step, position: placeNew(step, at, doc, catalogue) }));
  };
  const finish = (next: Doc) => {
    session.change(next);
    const added = session.doc.steps.at(-1);
    if (!added) return undefined;
    choose(new Set([added.key]), NOTHING);
    // Keys mean the new step from here on.
    focusNode(added.key);
    return added.key;
  };
  /** From the picker: a step that is connected with the port it was opened for. */
  const addPicked = (what: string, float: Extract<CanvasFloat, { kind: "picker" }>) => {
    const { from, middle, at } = float;
    if (!from) return add(what, middle);
    const { doc } = session;
    const bare = newStep(what, { x: 0, y: 0 }, catalogue);
    const position = middle
      ? placeNew(bare, middle, doc, catalogue)
      : placeAfter(bare, from.node, doc, catalogue);
    const next = addStep(doc, { ...bare, position });
    const key = next.steps.at(-1)?.key ?? "";
    const ways = connectionsWith(next, catalogue, from, key);
    const obvious = obviousConnection(ways, from);
    finish(obvious ? drawConnection(next, catalogue, obvious.connection) : next);
    if (!obvious) ask(ways, key, at);
  };
  return { add, addPicked };
}

export type CanvasActions = ReturnType<typeof useCanvasActions>;
