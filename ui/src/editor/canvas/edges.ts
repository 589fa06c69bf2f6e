import type { Edge } from "@xyflow/react";
import { editorTexts } from "../editorTexts";
import { type Catalogue, inputsOf, outputsOf, type PortType, perStep } from "../model/catalogue";
import type { Doc, Step } from "../model/document";
import { removeNeed } from "../model/edit";
import { refsIn } from "../model/expressions";
import { isImplied } from "../model/impliedLines";
import { isAt, type Problem } from "../model/problems";
import { removeReference } from "../model/references";
import { MORE, MORE_OUT, MOST, shapeOf } from "./stepGeometry";

const t = editorTexts.spoken;
/** What the library calls each line, in its own language otherwise. */
const LINE = { "aria-roledescription": t.lineRole };

/** The type of an output, and whether it has its own port. */
type Output = { type: PortType; shown: boolean };

/** What an edge on the canvas stands for. */
export type EdgeMeaning =
  | { kind: "order"; from: string; to: string }
  | { kind: "value"; from: string; output: string; to: string; path: string };

export function meaningOf(id: string): EdgeMeaning {
  const [kind, from = "", output = "", to = "", ...path] = id.split("|");
  return kind === "order"
    ? { kind, from, to }
    : { kind: "value", from, output, to, path: path.join("|") };
}

/** The document without one edge. */
export function removeEdge(doc: Doc, id: string): Doc {
  const edge = meaningOf(id);
  return edge.kind === "order"
    ? removeNeed(doc, edge.from, edge.to)
    : removeReference(doc, edge.from, edge.output, edge.to, edge.path);
}

/** Thick grey lines are order; thin coloured ones are values. */
export function edgesOf(doc: Doc, catalogue: Catalogue, problems: Map<string, Problem[]>): Edge[] {
  const by = new Map(doc.steps.map((step) => [step.key, step]));
  const types = new Map<Step, Map<string, Output>>();
  const outputOf = (step: Step, output: string) => {
    let found = types.get(step);
    if (!found) {
      found = new Map(
        outputsOf(step, catalogue).map(({ name, type }, i) => [name, { type, shown: i < MOST }]),
      );
      types.set(step, found);
    }
    return found.get(output);
  };
  return doc.steps.flatMap((step) => [
    ...(step.needs ?? [])
      .filter((need) => by.has(need))
      .map((need) => orderEdge(need, step.key, isImplied(doc, need, step.key))),
    ...valueEdges(step, by, outputOf, catalogue, problems.get(step.key) ?? []),
  ]);
}

/** An implied line is drawn only while somebody is at one of its ends. */
function orderEdge(from: string, to: string, implied: boolean): Edge {
  return {
    id: `order|${from}||${to}`,
    source: from,
    target: to,
    sourceHandle: "after",
    targetHandle: "before",
    type: "smoothstep",
    ariaLabel: t.waits(to, from),
    domAttributes: LINE,
    className: implied ? "oe implied" : "oe",
    ...(implied ? { data: { implied } } : {}),
  };
}

/**
 * The fields of a step that hold references, what they refer to, and the port where their edges
 * end.
 */
const readsOf = perStep((step, catalogue) => {
  const shown = new Set(shapeOf(step, catalogue).inputs.map((input) => input.path));
  return inputsOf(step, catalogue).flatMap(({ path, value }) => {
    const refs = refsIn(value);
    return refs.length > 0 ? [{ path, refs, handle: shown.has(path) ? `in:${path}` : MORE }] : [];
  });
});

function valueEdges(
  step: Step,
  by: Map<string, Step>,
  outputOf: (step: Step, output: string) => Output | undefined,
  catalogue: Catalogue,
  problems: Problem[],
): Edge[] {
  return readsOf(step, catalogue).flatMap(({ path, handle, refs }) => {
    const seen = new Set<string>();
    return refs.flatMap((ref) => {
      if (ref.scope !== "steps" && ref.scope !== "services") return [];
      const from = by.get(ref.key);
      const output = from && ref.key !== step.key ? outputOf(from, ref.name) : undefined;
      if (!output) return [];
      const id = `value|${ref.key}|${ref.name}|${step.key}|${path}`;
      if (seen.has(id)) return [];
      seen.add(id);
      const bad = problems.some((one) => isAt(one.field, path) && !one.advice);
      return {
        id,
        source: ref.key,
        target: step.key,
        sourceHandle: output.shown ? `out:${ref.name}` : MORE_OUT,
        targetHandle: handle,
        type: "default",
        ariaLabel: t.takes(step.key, ref.key, ref.name),
        domAttributes: LINE,
        className: `de t-${output.type} ${bad ? "bad" : ""}`,
      };
    });
  });
}

/** Reuses the objects of unchanged edges, so that React does not render them again. */
export function keepUnchangedEdges(lines: Edge[], before: Map<string, Edge>): Edge[] {
  return lines.map((line) => {
    const old = before.get(line.id);
    return old && isAsBefore(line, old) ? old : line;
  });
}

function isAsBefore(a: Edge, b: Edge): boolean {
  return (
    a.className === b.className &&
    a.sourceHandle === b.sourceHandle &&
    a.targetHandle === b.targetHandle
  );
}
