import {
  ancestorsOf,
  type Catalogue,
  type Input,
  inputsOf,
  outputsOf,
  type Port,
  perStep,
} from "../model/catalogue";
import type { Doc, Spot } from "../model/document";
import { listStrings, refsIn } from "../model/expressions";
import type { Box } from "../model/freeSpot";
import { isGroup } from "../model/groups";
import { isImplied } from "../model/impliedLines";

/**
 * Sizes of a step on the canvas in px. We compute them instead of measuring, since steps out of
 * view are not rendered.
 */
export const WIDTH = 184;
export const HEAD = 42;
export const ROW = 21;
export const PAD = 6;

/** The most fields that a step shows on the canvas; the inspector shows all. */
export const MOST = 8;

/** The distance between the columns of a drawing, with room for lines. */
export const COLUMN_GAP = 52;

/** The ports that stand for the fields and outputs without a row of their own. */
export const MORE = "more";
export const MORE_OUT = "more-out";

export type Shape = {
  inputs: Input[];
  outputs: Port[];
  /** The number of hidden fields; their edges end at one shared port. */
  more: number;
  moreOut: number;
  height: number;
};

export const shapeOf = perStep((step, catalogue): Shape => {
  const all = inputsOf(step, catalogue).filter(worthShowing);
  const inputs = all.length > MOST ? sortByImportance(all).slice(0, MOST) : all;
  const given = outputsOf(step, catalogue);
  const outputs = given.slice(0, MOST);
  const extra = [all, given].filter((ports) => ports.length > MOST).length;
  const rows = inputs.length + outputs.length + extra;
  return {
    inputs,
    outputs,
    more: all.length - inputs.length,
    moreOut: given.length - outputs.length,
    height: HEAD + (rows > 0 ? rows * ROW + 2 * PAD : 0),
  };
});

/** Fields with edges first, then required ones; each group in its original order. */
function sortByImportance(inputs: Input[]): Input[] {
  const rank = (one: Input) => (refersIn(one.value) ? 0 : one.required ? 1 : 2);
  return [...inputs].sort((a, b) => rank(a) - rank(b));
}

/** Required fields and those with references; plain values show in the inspector only. */
function worthShowing(input: Input): boolean {
  const isVariable = /^(service|job)\.env\./.test(input.path);
  return input.required === true || isVariable || refersIn(input.value);
}

/** Whether there is a reference in a value, or in a part of it. */
function refersIn(value: unknown): boolean {
  return listStrings(value, "").some(({ text }) => text.includes("${{"));
}

/** Lays every step out, left to right, in the order it runs. The library is loaded when needed. */
export async function layoutSteps(doc: Doc, catalogue: Catalogue): Promise<Map<string, Spot>> {
  const { graphlib, layout } = await import("@dagrejs/dagre");
  const groups = doc.comments.filter(isGroup);
  const graph = new graphlib.Graph({ compound: groups.length > 0 });
  graph.setGraph({ rankdir: "LR", nodesep: 32, ranksep: COLUMN_GAP, marginx: 24, marginy: 24 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const step of doc.steps)
    graph.setNode(step.key, { width: WIDTH, height: shapeOf(step, catalogue).height });
  for (const [at, { steps }] of groups.entries()) {
    const frame = `#${at}`;
    graph.setNode(frame, {});
    for (const key of steps) if (graph.hasNode(key)) graph.setParent(key, frame);
  }
  // Lines that are drawn keep a way free for themselves, also past the columns between their ends.
  for (const [from, to] of drawnLines(doc, catalogue)) graph.setEdge(from, to);
  layout(graph);
  return new Map(
    doc.steps.map((step) => {
      const at = graph.node(step.key) as { x: number; y: number; width: number; height: number };
      return [step.key, { x: at.x - at.width / 2, y: at.y - at.height / 2 }];
    }),
  );
}

/** From which step to which a line is drawn, each pair once. */
function drawnLines(doc: Doc, catalogue: Catalogue): [string, string][] {
  const known = new Set(doc.steps.map((step) => step.key));
  const pairs = new Map<string, [string, string]>();
  const add = (from: string, to: string) => {
    if (from !== to && known.has(from)) pairs.set(`${from} ${to}`, [from, to]);
  };
  for (const step of doc.steps) {
    for (const need of step.needs ?? []) if (!isImplied(doc, need, step.key)) add(need, step.key);
    for (const { value } of inputsOf(step, catalogue))
      for (const ref of refsIn(value))
        if ("key" in ref && runsBefore(doc, ref.key, step.key)) add(ref.key, step.key);
  }
  return [...pairs.values()];
}

/** A URL may be read of a step that runs later: it decides nothing about the columns. */
function runsBefore(doc: Doc, from: string, to: string): boolean {
  return ancestorsOf(doc).get(to)?.has(from) === true;
}

/** An alignment guide: where an edge or centre of the moved step lines up with another step's. */
export type Guide = { axis: "x" | "y"; at: number; from: number; to: number };

/** The position to which a dragged box snaps within `reach`, and the guides to show. */
export function snapBox(box: Box, others: Box[], reach: number): { spot: Spot; guides: Guide[] } {
  const x = closestGuide(box, others, "x", "width", reach);
  const y = closestGuide(box, others, "y", "height", reach);
  const spot = { x: box.x + (x?.by ?? 0), y: box.y + (y?.by ?? 0) };
  const guides: Guide[] = [];
  const span = (with_: Box | undefined, axis: "x" | "y"): [number, number] => {
    const [at, size] = axis === "x" ? (["y", "height"] as const) : (["x", "width"] as const);
    const all = with_ ? [box, with_] : [box];
    return [Math.min(...all.map((b) => b[at])), Math.max(...all.map((b) => b[at] + b[size]))];
  };
  if (x) {
    const [from, to] = span(others[x.other], "x");
    guides.push({ axis: "x", at: x.at, from, to });
  }
  if (y) {
    const [from, to] = span(others[y.other], "y");
    guides.push({ axis: "y", at: y.at, from, to });
  }
  return { spot, guides };
}

/** Runs for every step on each pointer move, so it allocates nothing. */
function closestGuide(
  box: Box,
  others: Box[],
  start: "x" | "y",
  length: "width" | "height",
  reach: number,
) {
  let best: { by: number; at: number; other: number } | undefined;
  for (let other = 0; other < others.length; other++) {
    const one = others[other] as Box;
    for (let share = 0; share <= 1; share += 0.5) {
      const at = one[start] + one[length] * share;
      const by = at - (box[start] + box[length] * share);
      if (Math.abs(by) <= reach && (!best || Math.abs(by) < Math.abs(best.by)))
        best = { by, at, other };
    }
  }
  return best;
}
