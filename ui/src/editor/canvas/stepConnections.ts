/** What a line could mean that is dropped on a step as a whole, or on a new one. */
import type { Connection } from "@xyflow/react";
import { editorTexts as t } from "@/editor/editorTexts";
import { type Catalogue, inputsOf, outputsOf, type PortType } from "../model/catalogue";
import { containerOf, containerPath, type Doc, type Step, stepOf } from "../model/document";
import { addNeed } from "../model/edit";
import { addReference } from "../model/references";
import { toField, whyNotConnect } from "./connections";
import { MORE, MORE_OUT } from "./stepGeometry";

/** The port that a line begins at. */
export type PortEnd = { node: string; handle: string; type: "source" | "target" };

/** One way to connect a port with a step. */
export type StepConnection = {
  label: string;
  type?: PortType;
  connection: Connection;
  /** It is a field with nothing in it yet. */
  empty?: boolean;
  required?: boolean;
};

/** Each way to connect a port with this step, the likeliest first; none where nothing fits. */
export function connectionsWith(
  doc: Doc,
  catalogue: Catalogue,
  end: PortEnd,
  key: string,
): StepConnection[] {
  const step = stepOf(doc, key);
  if (!step || key === end.node || end.handle === MORE || end.handle === MORE_OUT) return [];
  const ways =
    end.type === "source" ? waysInto(end, step, catalogue) : waysFrom(end, step, catalogue);
  const fit = ways.filter(({ connection }) => !whyNotConnect(doc, catalogue, connection));
  const name = end.handle.replace(/^(in|out):(.*\.)?/, "").toLowerCase();
  const rank = (way: StepConnection) =>
    (way.label.toLowerCase() === name ? 0 : 4) + (way.required ? 0 : 2) + (way.empty ? 0 : 1);
  return fit.sort((a, b) => rank(a) - rank(b));
}

/** The one that is meant without a doubt; undefined where somebody has to say. */
export function obviousConnection(
  ways: StepConnection[],
  end: PortEnd,
): StepConnection | undefined {
  const name = end.handle.replace(/^(in|out):(.*\.)?/, "").toLowerCase();
  const empty = ways.filter((way) => way.empty);
  const alike = empty.filter((way) => way.label.toLowerCase() === name);
  for (const some of [ways, alike, empty]) if (some.length === 1) return some[0];
  return undefined;
}

const COMMANDS: string[] = [t.shown.command, t.shown.entrypoint];

/** Into a step: after it, or an output into one of its fields, or into a new variable. */
function waysInto(end: PortEnd, step: Step, catalogue: Catalogue): StepConnection[] {
  if (!end.handle.startsWith("out:"))
    return [{ label: t.step.needs, connection: toField(end, step.key, "needs") }];
  const fields = inputsOf(step, catalogue).map<StepConnection>((input) => ({
    label: input.label,
    type: input.type,
    connection: toField(end, step.key, input.path),
    empty: input.value === undefined || input.value === "",
    required: input.required,
  }));
  if (!containerOf(step)) return fields;
  const path = `${containerPath(step)}.env`;
  // Nobody who lets go of a line on a service means its command: that is a field of the inspector.
  const asked = fields.filter(({ label }) => !COMMANDS.includes(label));
  const added = toField(end, step.key, path);
  return [...asked, { label: t.newVariable, type: "any", connection: added }];
}

/** From a step: before it, or one of its outputs into the field. */
function waysFrom(end: PortEnd, step: Step, catalogue: Catalogue): StepConnection[] {
  const connect = (sourceHandle: string): Connection => ({
    source: step.key,
    sourceHandle,
    target: end.node,
    targetHandle: end.handle,
  });
  if (!end.handle.startsWith("in:")) return [{ label: t.step.needs, connection: connect("after") }];
  return outputsOf(step, catalogue).map((output) => ({
    label: output.label,
    type: output.type,
    connection: connect(`out:${output.name}`),
    empty: true,
  }));
}

/** The drawing with a line drawn. */
export function drawConnection(doc: Doc, catalogue: Catalogue, connection: Connection): Doc {
  const { source, target, sourceHandle, targetHandle } = connection;
  const path = targetHandle?.startsWith("in:") ? targetHandle.slice(3) : undefined;
  if (path && sourceHandle?.startsWith("out:"))
    return addReference(doc, catalogue, source, sourceHandle.slice(4), target, path);
  return addNeed(doc, source, target);
}
