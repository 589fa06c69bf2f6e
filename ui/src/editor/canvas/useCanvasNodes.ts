import { useMemo, useRef } from "react";
import { stateWord } from "@/components/Status";
import { editorTexts } from "@/editor/editorTexts";
import { describeKind, orderOf } from "../model/catalogue";
import type { Spot } from "../model/document";
import { commentId } from "../model/edit";
import { isGroup } from "../model/groups";
import type { Problem } from "../model/problems";
import {
  type CanvasNode,
  COMMENT_WIDTH,
  commentHeight,
  frameAround,
  handlesOf,
  spotOf,
} from "./canvasNodes";
import type { CanvasProps } from "./canvasProps";
import { findRemovedSteps } from "./removedSteps";
import { shapeOf, WIDTH } from "./stepGeometry";

const t = editorTexts;
const NONE: Problem[] = [];
const GHOST = { draggable: false, selectable: false, connectable: false, focusable: false };

/** The nodes for React Flow. Unchanged ones keep their identity and are not rendered again. */
export function useNodes(props: CanvasProps, dragged?: Map<string, Spot>): CanvasNode[] {
  const { doc, catalogue, problems, marks, results, chosen } = props;
  const known = useRef(new Map<string, { inputs: unknown[]; node: CanvasNode }>());
  const order = useMemo(() => orderOf(doc), [doc]);
  const ghosts = useMemo(() => findRemovedSteps(props.before, doc), [props.before, doc]);
  return useMemo(() => {
    const next = new Map<string, { inputs: unknown[]; node: CanvasNode }>();
    const once = (id: string, inputs: unknown[], make: () => CanvasNode) => {
      const old = known.current.get(id);
      const same = old && inputs.every((input, i) => input === old.inputs[i]);
      const entry = same ? old : { inputs, node: make() };
      next.set(id, entry);
      return entry.node;
    };
    const rank = new Map(order.map((key, i) => [key, i]));
    const all = doc.steps.length;
    const steps = [...doc.steps, ...ghosts].map((step, index) => {
      const shape = shapeOf(step, catalogue);
      const gone = index >= doc.steps.length;
      const at = gone ? 0 : (rank.get(step.key) ?? index) + 1;
      const found = problems.get(step.key) ?? NONE;
      const mark = marks?.get(step.key);
      const ran = results?.get(step.key);
      const spot = dragged?.get(step.key);
      const selected = chosen.has(step.key);
      const size = { width: WIDTH, height: shape.height };
      return once(step.key, [step, shape, at, all, found, mark, ran, spot, selected], () => ({
        id: step.key,
        type: "step",
        position: spot ?? spotOf(step, index),
        ...size,
        measured: size,
        handles: handlesOf(shape),
        selected,
        ariaLabel: [
          step.key,
          describeKind(step),
          gone ? t.panel.removed : t.order(at, all),
          ...countProblems(found),
          ...(ran ? [stateWord(ran.status)] : []),
        ].join(", "),
        data: { step, shape, at, problems: found, mark, ran },
        ...(gone ? GHOST : {}),
      }));
    });
    // Tab goes along the order in which steps run.
    steps.sort((a, b) => (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0));
    const comments = doc.comments.map((comment, index) => {
      const id = commentId(index);
      const spot = dragged?.get(id);
      const selected = chosen.has(id);
      const group = isGroup(comment) ? comment : undefined;
      const frame = group && frameAround(boxesOf(group.steps, steps));
      if (group && frame) {
        const { x, y, width, height } = frame;
        return once(id, [comment, x, y, width, height, selected, index], () => ({
          id,
          type: "frame",
          position: { x, y },
          width,
          height,
          measured: { width, height },
          selected,
          // Below its steps and their lines, also while it is chosen, which lifts it by a thousand.
          zIndex: -1001,
          dragHandle: ".fh",
          ariaLabel: t.groupNamed(group.text, group.steps.length),
          data: { comment, index },
        }));
      }
      const size = { width: COMMENT_WIDTH, height: commentHeight(comment) };
      return once(id, [comment, spot, selected, index], () => ({
        id,
        type: "comment",
        position: spot ?? spotOf(comment, index),
        ...size,
        measured: size,
        selected,
        ariaLabel: t.commentLabel,
        data: { comment, index },
      }));
    });
    known.current = next;
    return [...comments, ...steps];
  }, [doc, catalogue, order, ghosts, problems, marks, results, chosen, dragged]);
}

/** Where the steps of a group are drawn. */
function boxesOf(keys: string[], nodes: CanvasNode[]) {
  const wanted = new Set(keys);
  return nodes.flatMap(({ id, position, width = 0, height = 0 }) =>
    wanted.has(id) ? { ...position, width, height } : [],
  );
}

/** How much is wrong with a step, in words. */
function countProblems(problems: Problem[]): string[] {
  const errors = problems.filter((one) => !one.advice).length;
  const advice = problems.length - errors;
  return [...(errors > 0 ? [t.errors(errors)] : []), ...(advice > 0 ? [t.advice(advice)] : [])];
}
