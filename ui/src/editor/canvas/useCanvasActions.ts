import { type Connection, type FinalConnectionState, useReactFlow } from "@xyflow/react";
import { useCallback, useRef } from "react";
import { useToast } from "@/components/Toast";
import { editorTexts as t } from "@/editor/editorTexts";
import type { Catalogue } from "../model/catalogue";
import { pasteSteps } from "../model/clipboard";
import type { Doc, Spot, Step } from "../model/document";
import {
  addComment,
  addNeed,
  addStep,
  commentId,
  moveItems,
  removeNeed,
  removeSelected,
} from "../model/edit";
import { addReference, removeReference } from "../model/references";
import type { Session } from "../session/session";
import { fieldUnder, highlightFields, toField, whyNotConnect } from "./connections";
import { meaningOf } from "./edges";
import { newStep, viewportCentre, visibleBox } from "./newStep";
import { layoutSteps } from "./stepGeometry";

type CanvasContext = {
  session: Session;
  catalogue: Catalogue;
  /** The step that the inspector shows. */
  step: Step | undefined;
  chosen: Set<string>;
  chosenEdges: Set<string>;
  choose: (nodes: Set<string>, edges: Set<string>) => void;
};

const NOTHING = new Set<string>();

/** The edits that can be made on the canvas, by mouse or keyboard. */
export function useCanvasActions({
  session,
  catalogue,
  step,
  chosen,
  chosenEdges,
  choose,
}: CanvasContext) {
  const flow = useReactFlow();
  const say = useToast();
  const change = (next: Doc) => session.change(next);
  const connecting = useConnecting(session, catalogue, step);

  const add = (what: string, spot?: Spot) => {
    const at = spot ?? viewportCentre(flow);
    const place = { x: Math.round(at.x), y: Math.round(at.y) };
    if (what === "comment") {
      change(addComment(session.doc, { text: "", position: place }));
      choose(new Set([commentId(session.doc.comments.length - 1)]), NOTHING);
      return;
    }
    change(addStep(session.doc, newStep(what, place, catalogue)));
    const added = session.doc.steps[session.doc.steps.length - 1];
    if (added) choose(new Set([added.key]), NOTHING);
  };
  const remove = () => {
    const cut = [...chosenEdges].reduce(removeEdge, session.doc);
    change(chosen.size > 0 ? removeSelected(cut, chosen) : cut);
    choose(NOTHING, NOTHING);
  };
  const insert = (text: string, by: Spot) => {
    const pasted = pasteSteps(session.doc, text, by, visibleBox(flow));
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
      setTimeout(() => void flow.fitView({ padding: 0.15, maxZoom: 1 }), 30);
    } catch (error) {
      say("failed", t.untidy(error instanceof Error ? error.message : ""));
    }
  };
  return { add, remove, insert, lay, ...connecting };
}

/** The document without one edge. */
function removeEdge(doc: Doc, id: string): Doc {
  const edge = meaningOf(id);
  return edge.kind === "order"
    ? removeNeed(doc, edge.from, edge.to)
    : removeReference(doc, edge.from, edge.output, edge.to, edge.path);
}

/** Connecting: from port to port, or from a port to a field of the inspector. */
function useConnecting(session: Session, catalogue: Catalogue, step: Step | undefined) {
  const say = useToast();
  const port = useRef<{ node: string; handle: string }>(null);
  const judge = useCallback(
    (connection: Connection) => whyNotConnect(session.doc, catalogue, connection),
    [session, catalogue],
  );
  const connect = ({ source, target, sourceHandle, targetHandle }: Connection) => {
    const { doc } = session;
    const path = targetHandle?.startsWith("in:") ? targetHandle.slice(3) : undefined;
    if (path && sourceHandle?.startsWith("out:"))
      session.change(addReference(doc, catalogue, source, sourceHandle.slice(4), target, path));
    else session.change(addNeed(doc, source, target));
  };
  const loose = (_: FinalConnectionState, event: MouseEvent | TouchEvent, why?: string) => {
    const from = port.current;
    port.current = null;
    highlightFields(null);
    const field = from && step ? fieldUnder(event) : null;
    if (field && from && step) {
      const connection = toField(from, step.key, field);
      const no = judge(connection);
      if (no) say("failed", no);
      else connect(connection);
    } else if (why) say("failed", why);
  };
  const dragPort = (source: { node: string; handle: string } | null) => {
    if (source) port.current = source;
    highlightFields(source && step ? (path) => judge(toField(source, step.key, path)) : null);
  };
  return { judge, connect, loose, dragPort };
}
