/** Where an output is dropped: which fields take it, and the fields on the page. */
import type { Connection } from "@xyflow/react";
import { editorTexts as t } from "@/editorTexts";
import { ancestorsOf, type Catalogue, fits, inputsOf } from "./catalogue";
import { outputType, whyNotNeed } from "./edit";
import { type Doc, stepOf } from "./model";

export function toField(
  from: { node: string; handle: string },
  target: string,
  path: string,
): Connection {
  const targetHandle = path === "needs" ? "before" : `in:${path}`;
  return { source: from.node, sourceHandle: from.handle, target, targetHandle };
}

/** Why a connection cannot be made; null when it can. */
export function judgeOf(doc: Doc, catalogue: Catalogue, connection: Connection): string | null {
  const { source, target, sourceHandle, targetHandle } = connection;
  const value = sourceHandle?.startsWith("out:");
  if (value !== Boolean(targetHandle?.startsWith("in:"))) return t.connectNo.kind;
  if (!value) return needNo(doc, source, target);
  const output = sourceHandle?.slice(4) ?? "";
  const path = targetHandle?.slice(3) ?? "";
  const to = stepOf(doc, target);
  const from = stepOf(doc, source);
  const type = outputType(doc, catalogue, source, output);
  const input = to && inputsOf(to, catalogue).find((one) => one.path === path);
  if (!type || !input || source === target) return t.connectNo.kind;
  const types = t.problem.types;
  if (!fits(type, input.type))
    return t.connectNo.type(`${source}.${output}`, types[type], input.label, types[input.type]);
  const loose = output === "url" && Boolean(from?.service);
  if (!loose && ancestorsOf(doc).get(source)?.has(target)) return t.connectNo.late(source, target);
  return null;
}

export function needNo(doc: Doc, from: string, to: string): string | null {
  const why = whyNotNeed(doc, from, to);
  if (why === "self" || why === "there") return t.connectNo[why];
  return why === "circle" ? t.connectNo.circle(from, to) : null;
}

export function fieldUnder(event: MouseEvent | TouchEvent): string | null {
  const at = "changedTouches" in event ? event.changedTouches[0] : event;
  if (!at) return null;
  const under = document.elementFromPoint(at.clientX, at.clientY);
  return under?.closest<HTMLElement>(".insp [data-field]")?.dataset.field ?? null;
}

/** While an output is dragged, fields that take it are lit; those that do not say why on hover. */
export function light(judge: ((path: string) => string | null) | null) {
  for (const field of document.querySelectorAll<HTMLElement>(".insp [data-field]")) {
    delete field.dataset.drop;
    field.removeAttribute("title");
    if (!judge) continue;
    const no = judge(field.dataset.field ?? "");
    field.dataset.drop = no ? "no" : "yes";
    if (no) field.title = no;
  }
}

export function focusField(field: string, again = true) {
  const all = [...document.querySelectorAll<HTMLElement>(".insp [data-field]")];
  const found =
    all.find((one) => one.dataset.field === field) ??
    all.find((one) => field.startsWith(one.dataset.field ?? "\n"));
  const limits = document.querySelector<HTMLElement>(".insp [data-tab=limits]");
  if (!found && limits && again) {
    // What is on no tab that shows is on the one with the limits.
    limits.click();
    setTimeout(() => focusField(field, false), 60);
  }
  found?.scrollIntoView({ block: "nearest" });
  found?.querySelector<HTMLElement>("input, textarea, button.ref, select")?.focus();
}
