/** Connecting outputs to inputs: which fields accept an output, and finding fields on the page. */
import type { Connection } from "@xyflow/react";
import { editorTexts as t } from "@/editor/editorTexts";
import {
  acceptsOutput,
  ancestorsOf,
  type Catalogue,
  type Input,
  inputsOf,
  type PortType,
} from "../model/catalogue";
import { containerOf, type Doc, type Spot, type Step, stepOf } from "../model/document";
import { inputAt, outputType, whyNotAddNeed } from "../model/edit";
import type { Problem } from "../model/problems";
import { isNewVariable } from "../model/references";
import { MORE, MORE_OUT } from "./stepGeometry";

export function toField(
  from: { node: string; handle: string },
  target: string,
  path: string,
): Connection {
  const targetHandle = path === "needs" ? "before" : `in:${path}`;
  return { source: from.node, sourceHandle: from.handle, target, targetHandle };
}

/** Why a connection is not allowed; null if it is. */
export function whyNotConnect(
  doc: Doc,
  catalogue: Catalogue,
  connection: Connection,
): string | null {
  const { source, target, sourceHandle, targetHandle } = connection;
  const value = sourceHandle?.startsWith("out:");
  if (targetHandle === MORE) return t.connectNo.more;
  if (sourceHandle === MORE_OUT) return t.connectNo.moreOut;
  if (value !== Boolean(targetHandle?.startsWith("in:"))) return t.connectNo.kind;
  if (!value) return whyNotOrder(doc, source, target);
  const output = sourceHandle?.slice(4) ?? "";
  const path = targetHandle?.slice(3) ?? "";
  const to = stepOf(doc, target);
  const from = stepOf(doc, source);
  const type = outputType(doc, catalogue, source, output);
  const input = to && inputFor(to, catalogue, path);
  if (!type || !input || source === target) return t.connectNo.kind;
  const no = acceptsOutput(input, type) ? null : typeMismatch(`${source}.${output}`, type, input);
  if (no) return no;
  const loose = output === "url" && Boolean(from?.service);
  if (!loose && ancestorsOf(doc).get(source)?.has(target)) return t.connectNo.late(source, target);
  return null;
}

/** The input at a path, or the one that dropping there would create. */
function inputFor(step: Step, catalogue: Catalogue, path: string): Input | undefined {
  if (isNewVariable(path) && containerOf(step)) return { name: "", label: "", path, type: "any" };
  return inputAt(inputsOf(step, catalogue), path);
}

function typeMismatch(what: string, type: PortType, input: Input): string {
  const { types } = t.problem;
  if (type === "secret" && input.open) return t.connectNo.open(what, input.label);
  return t.connectNo.type(what, types[type], input.label, types[input.type]);
}

export function whyNotOrder(doc: Doc, from: string, to: string): string | null {
  const why = whyNotAddNeed(doc, from, to);
  if (why === "self" || why === "there") return t.connectNo[why];
  return why === "circle" ? t.connectNo.circle(from, to) : null;
}

/** Where in the window a line was let go. */
export function pointOf(event: MouseEvent | TouchEvent): Spot | null {
  const at = "changedTouches" in event ? event.changedTouches[0] : event;
  return at ? { x: at.clientX, y: at.clientY } : null;
}

export function fieldUnder({ x, y }: Spot): string | null {
  const under = document.elementFromPoint(x, y)?.closest<HTMLElement>(".insp [data-field]");
  return under?.dataset.field ?? null;
}

export function stepUnder({ x, y }: Spot): string | null {
  return (
    document.elementFromPoint(x, y)?.closest<HTMLElement>(".en[data-key]")?.dataset.key ?? null
  );
}

/** Highlights the fields that accept the dragged output; the others show the reason on hover. */
export function highlightFields(judge: ((path: string) => string | null) | null) {
  for (const field of document.querySelectorAll<HTMLElement>(".insp [data-field]")) {
    delete field.dataset.drop;
    field.removeAttribute("title");
    if (!judge) continue;
    const no = judge(field.dataset.field ?? "");
    field.dataset.drop = no ? "no" : "yes";
    if (no) field.title = no;
  }
}

/** The inspector's tab that has a field. */
export function tabOfField(field: string): "settings" | "limits" {
  const limits = [
    ...["resources", "timeout_seconds", "network", "restart", "command", "gpus", "entrypoint"],
    ...["user", "init", "read_only", "stop_signal", "stop_grace_seconds", "tmpfs", "extra_hosts"],
  ];
  const [kind, part = ""] = field.split(/[.[]/);
  return kind !== "approval" && kind !== "script" && limits.includes(part) ? "limits" : "settings";
}

/** How often, and at what interval in ms, we look for a field: a plugin's form loads lazily. */
const TRIES = 40;
const APART = 50;

/** Selector of a field's own control; the menu of references comes before it. */
const CONTROLS = "input, textarea, button.ref, select:not(.refer select)";

/** Focuses a field of the inspector. */
export function focusField(field: string, part = CONTROLS) {
  focusWhenLoaded(field, part, TRIES);
}

/** Shows the tab that has the field; the inspector is loaded when the first step is chosen. */
function showTab(field: string) {
  const tab = document.querySelector<HTMLElement>(`.insp [data-tab=${tabOfField(field)}]`);
  if (tab?.getAttribute("aria-selected") === "false") tab.click();
}

function focusWhenLoaded(field: string, part: string, left: number) {
  showTab(field);
  const found = fieldNamed(field);
  if (!found && left > 0) setTimeout(() => focusWhenLoaded(field, part, left - 1), APART);
  found?.scrollIntoView({ block: "nearest" });
  found?.querySelector<HTMLElement>(part)?.focus();
}

function fieldNamed(field: string): HTMLElement | undefined {
  const all = [...document.querySelectorAll<HTMLElement>(".insp [data-field]")];
  return (
    all.find((one) => one.dataset.field === field) ??
    all.find((one) => field.startsWith(one.dataset.field ?? "\n"))
  );
}

/**
 * The problem after the one shown last, wrapping around; otherwise the first one of the selected
 * step.
 */
export function nextProblem(
  problems: Problem[],
  last: Problem | undefined,
  chosen?: string,
): Problem | undefined {
  const all = problems.filter((one) => one.step);
  const exact = all.findIndex(
    (one) => last && inOneField(one, last) && one.message === last.message,
  );
  // The server may report the same problem in other words.
  const at = exact >= 0 ? exact : all.findIndex((one) => last && inOneField(one, last));
  if (at >= 0) return all[(at + 1) % all.length];
  return all.find((one) => one.step === chosen) ?? all[0];
}

function inOneField(a: Problem, b: Problem): boolean {
  return a.step === b.step && a.field === b.field;
}
