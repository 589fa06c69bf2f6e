import { type Connection, useReactFlow } from "@xyflow/react";
import { useCallback, useRef } from "react";
import { useToast } from "@/components/Toast";
import { editorTexts as t } from "@/editor/editorTexts";
import type { Spot } from "../model/document";
import { isImplied } from "../model/impliedLines";
import type { CanvasContext } from "./canvasContext";
import type { CanvasFloat } from "./canvasFloat";
import {
  fieldUnder,
  highlightFields,
  pointOf,
  stepUnder,
  toField,
  whyNotConnect,
} from "./connections";
import { lightTargets } from "./lightTargets";
import {
  connectionsWith,
  drawConnection,
  obviousConnection,
  type PortEnd,
  type StepConnection,
} from "./stepConnections";

const NOTHING = new Set<string>();

/**
 * Connecting: from port to port, to a field of the inspector, to a step as a whole, or to a step
 * that is still to be added.
 */
export function useConnections(
  { session, catalogue, step, choose }: CanvasContext,
  setFloat: (float: CanvasFloat | undefined) => void,
) {
  const say = useToast();
  const flow = useReactFlow();
  const port = useRef<PortEnd>(null);
  const judge = useCallback(
    (connection: Connection) => whyNotConnect(session.doc, catalogue, connection),
    [session, catalogue],
  );
  const connect = (connection: Connection) => {
    session.change(drawConnection(session.doc, catalogue, connection));
    const { source, target, targetHandle } = connection;
    // What follows from other lines is drawn while it is chosen: nobody wonders where it went.
    if (targetHandle === "before" && isImplied(session.doc, source, target))
      choose(NOTHING, new Set([`order|${source}||${target}`]));
  };
  /** Takes the field that is meant, or asks which one it is. */
  const ask = (ways: StepConnection[], key: string, at: Spot) => {
    if (ways.length > 0) setFloat({ kind: "fields", at, step: key, ways });
  };
  const dropOnStep = (from: PortEnd, key: string, at: Spot, why?: string) => {
    const ways = connectionsWith(session.doc, catalogue, from, key);
    const obvious = obviousConnection(ways, from);
    if (obvious) connect(obvious.connection);
    else if (ways.length > 0) ask(ways, key, at);
    else say("failed", why ?? t.connectNo.nothing(key));
  };
  const loose = (event: MouseEvent | TouchEvent, why?: string) => {
    const from = port.current;
    const at = pointOf(event);
    dragPort(null);
    if (!from || !at) return why && say("failed", why);
    const field = step && from.type === "source" ? fieldUnder(at) : null;
    if (field && step) {
      const connection = toField(from, step.key, field);
      const no = judge(connection);
      if (no) say("failed", no);
      else connect(connection);
      return;
    }
    if (why) return say("failed", why);
    const under = stepUnder(at);
    if (under === from.node) return;
    if (under) dropOnStep(from, under, at);
    else if (document.elementFromPoint(at.x, at.y)?.closest(".react-flow__pane"))
      setFloat({ kind: "picker", at, middle: flow.screenToFlowPosition(at), from });
  };
  const dragPort = (end: PortEnd | null) => {
    port.current = end;
    lightTargets(end, session.doc, catalogue);
    const into = end?.type === "source" && step;
    highlightFields(into ? (path) => judge(toField(end, step.key, path)) : null);
  };
  return { judge, connect, ask, loose, dragPort };
}
