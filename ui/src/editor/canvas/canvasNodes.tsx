import { type Node, Position } from "@xyflow/react";
import { createContext } from "react";
import type { Step as RunStep } from "@/api/client";
import type { Mark } from "../compare/ChangeBadge";
import type { Comment, Spot, Step } from "../model/document";
import { type Box, boundingBox } from "../model/freeSpot";
import type { Problem } from "../model/problems";
import type { PortEnd } from "./stepConnections";
import { HEAD, MORE, MORE_OUT, PAD, ROW, type Shape, WIDTH } from "./stepGeometry";

export type StepData = {
  step: Step;
  shape: Shape;
  at: number;
  problems: Problem[];
  mark?: Mark;
  /** What came of it when its branch ran. */
  ran?: RunStep;
};
export type CommentData = { comment: Comment; index: number };
/** A named frame around steps. */
export type GroupData = { comment: Comment; index: number };
export type StepNodeType = Node<StepData, "step">;
export type CommentNodeType = Node<CommentData, "comment">;
export type GroupNodeType = Node<GroupData, "frame">;
export type CanvasNode = StepNodeType | CommentNodeType | GroupNodeType;

export const COMMENT_WIDTH = 200;

/** What steps, ports and comments do by themselves. */
export const CanvasActs = createContext({
  comment: (_index: number, _text: string) => {},
  /** Asks for a step to add at a port. */
  plus: (_end: PortEnd, _at: DOMRect) => {},
});

/**
 * Whether the canvas is seen from so far that ports and values could not be read. Then a step is a
 * box with its name, and all edges are a few paths: five hundred steps follow the pointer.
 */
export const ZoomedOut = createContext(false);
export const ZOOMED_OUT_BELOW = 0.4;

/** Where the ports of a step are: told to the library, so that edges need no rendered step. */
export function handlesOf(shape: Shape) {
  const port = { width: 12, height: 12 };
  const y = (row: number) => HEAD + PAD + row * ROW + ROW / 2 - 6;
  const last = shape.inputs.length;
  const first = last + (shape.more > 0 ? 1 : 0);
  return [
    { id: "before", type: "target" as const, position: Position.Left, x: -6, y: 15, ...port },
    {
      id: "after",
      type: "source" as const,
      position: Position.Right,
      x: WIDTH - 6,
      y: 15,
      ...port,
    },
    ...shape.inputs.map((input, i) => ({
      id: `in:${input.path}`,
      type: "target" as const,
      position: Position.Left,
      x: -6,
      y: y(i),
      ...port,
    })),
    ...(shape.more > 0
      ? [{ id: MORE, type: "target" as const, position: Position.Left, x: -6, y: y(last), ...port }]
      : []),
    ...shape.outputs.map((output, i) => ({
      id: `out:${output.name}`,
      type: "source" as const,
      position: Position.Right,
      x: WIDTH - 6,
      y: y(first + i),
      ...port,
    })),
    ...(shape.moreOut > 0
      ? [
          {
            id: MORE_OUT,
            type: "source" as const,
            position: Position.Right,
            x: WIDTH - 6,
            y: y(first + shape.outputs.length),
            ...port,
          },
        ]
      : []),
  ];
}

/** About so many lines a comment takes. */
export function linesOf(text: string): number {
  const wrapped = text.split("\n").map((line) => Math.max(1, Math.ceil(line.length / 28)));
  return Math.max(
    2,
    wrapped.reduce((sum, one) => sum + one, 0),
  );
}

export function commentHeight(comment: Comment): number {
  return 34 + linesOf(comment.text) * 16;
}

export function spotOf(item: { position?: Spot }, index: number): Spot {
  return (
    item.position ?? { x: 24 + (index % 6) * (WIDTH + 64), y: 24 + Math.floor(index / 6) * 190 }
  );
}

/** Around the steps of a frame; above them, its name. */
const FRAME = { side: 14, top: 38, bottom: 14 };

/** The frame around these steps; undefined where none of them is drawn. */
export function frameAround(boxes: Box[]): Box | undefined {
  if (boxes.length === 0) return undefined;
  const { x, y, width, height } = boundingBox(boxes);
  return {
    x: x - FRAME.side,
    y: y - FRAME.top,
    width: width + 2 * FRAME.side,
    height: height + FRAME.top + FRAME.bottom,
  };
}
