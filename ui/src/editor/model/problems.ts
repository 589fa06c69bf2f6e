import type { Schemas } from "@/api/client";
import { editorTexts } from "@/editor/editorTexts";
import {
  ancestorsOf,
  type Catalogue,
  componentOf,
  inputsOf,
  isAssignable,
  orderOf,
  outputsOf,
  type PortType,
  perStep,
} from "./catalogue";
import { checkBounds } from "./checkBounds";
import { containerOf, containerPath, type Doc, kindOf, type Step } from "./document";
import { isKey } from "./edit";
import {
  calledText,
  type Expression,
  listStrings,
  parse,
  parseSingleExpression,
  type Ref,
  refText,
} from "./expressions";

export type Problem = {
  step?: string;
  field: string;
  code: string;
  message: string;
  advice?: boolean;
};

const t = editorTexts.problem;

/** Whether a problem is about a field, or about a part of what is in it. */
export function isAt(field: string, path: string): boolean {
  return field === path || (field.startsWith(path) && /^[.[]/.test(field.slice(path.length)));
}

/**
 * The problems of a document that can be found locally, while the user types. The server finds the
 * rest and is authoritative.
 */
export function problemsOf(doc: Doc, catalogue: Catalogue): Problem[] {
  if (doc.steps.length === 0) return [{ field: "steps", code: "empty", message: t.empty }];
  const before = ancestorsOf(doc);
  const by = new Map(doc.steps.map((step) => [step.key, step]));
  return [
    ...findCycles(doc),
    ...doc.steps.flatMap((step) => {
      const found: Problem[] = [];
      const fail = (field: string, code: string, message: string) =>
        found.push({ step: step.key, field, code, message });
      if (!isKey(step.key)) fail("key", "name", t.key);
      checkBounds(step, fail);
      unknownPart(step, catalogue, fail);
      checkRequired(step, catalogue, fail);
      for (const { path, parts, wrong } of parsedOf(step, catalogue)) {
        if (wrong) fail(path, "syntax", wrong.why);
        for (const part of parts)
          if ("ref" in part) {
            const why = whyInvalidRef(part.ref, step, by, before, catalogue);
            if (why) fail(path, why.code, why.message);
          }
      }
      checkTypes(step, by, catalogue, fail);
      const container = containerOf(step);
      if (container && !container.resources?.memory_mib)
        found.push({
          step: step.key,
          field: `${containerPath(step)}.resources.memory_mib`,
          code: "advice",
          message: t.noLimit,
          advice: true,
        });
      return found;
    }),
  ];
}

type Fail = (field: string, code: string, message: string) => void;

function findCycles(doc: Doc): Problem[] {
  const before = ancestorsOf(doc);
  const inside = orderOf(doc).filter((key) => before.get(key)?.has(key));
  const [first] = inside;
  return first === undefined
    ? []
    : [{ step: first, field: "needs", code: "cycle", message: t.circle(inside.join(", ")) }];
}

function unknownPart(step: Step, catalogue: Catalogue, fail: Fail) {
  const container = containerOf(step);
  const field = `${containerPath(step)}.name`;
  if (container?.name === "") fail(field, "required", t.chooseService);
  else if (container && !catalogue.services.has(container.name))
    fail(field, "unknown_service", t.noService(container.name));
  if (step.plugin && !catalogue.plugins.has(step.plugin.name))
    fail("plugin.name", "unknown_plugin", t.noPlugin(step.plugin.name));
}

function checkRequired(step: Step, catalogue: Catalogue, fail: Fail) {
  if (step.approval && !step.approval.prompt) fail("approval.prompt", "required", t.noPrompt);
  for (const input of inputsOf(step, catalogue))
    if (input.required && (input.value === undefined || input.value === ""))
      fail(input.path, "required", t.required);
}

/** Every text of a step that may hold references. */
function fieldsOf(step: Step): { path: string; text: string }[] {
  const { plugin, approval, script } = step;
  const container = containerOf(step);
  const at = containerPath(step);
  return [
    ...listStrings(container?.env ?? {}, `${at}.env`),
    ...(container?.files ?? []).map((file, i) => ({
      path: `${at}.files[${i}].content`,
      text: file.content,
    })),
    ...listStrings(container?.command ?? [], `${at}.command`),
    ...listStrings(plugin?.parameters ?? {}, "plugin.parameters"),
    ...listStrings(plugin?.secrets ?? {}, "plugin.secrets"),
    ...listStrings(script?.parameters ?? {}, "script.parameters"),
    ...listStrings(script?.secrets ?? {}, "script.secrets"),
    ...(approval ? [{ path: "approval.prompt", text: approval.prompt }] : []),
  ];
}

const parsedOf = perStep((step) =>
  fieldsOf(step).map(({ path, text }) => ({ path, ...parse(text) })),
);

/** Why a reference leads nowhere; undefined where it leads to something. */
export function whyInvalidRef(
  ref: Ref,
  at: Step,
  by: Map<string, Step>,
  before: Map<string, Set<string>>,
  catalogue: Catalogue,
): { code: string; message: string } | undefined {
  // Of the input, the server finds it.
  if (ref.scope === "deployment" || ref.scope === "input") return undefined;
  if (ref.scope === "secrets")
    return catalogue.secrets.includes(ref.name)
      ? undefined
      : { code: "unknown_secret", message: t.noSecret(ref.name) };
  const step = by.get(ref.key);
  if (!step) return { code: "unknown_step", message: t.noStep(ref.key) };
  const outputs = componentOf(step, catalogue)?.outputs;
  const declared = step.script ? outputs?.properties : kindOf(step) !== "plugin" || outputs;
  const always = ["answer", "answered_by", "answered_at"].includes(ref.name) && step.approval;
  if (declared && !always && !outputsOf(step, catalogue).some((port) => port.name === ref.name))
    return { code: "unknown_output", message: noOutput(step, ref.name) };
  const loose = ref.scope === "services" && (ref.name === "url" || ref.key === at.key);
  if (!loose && !before.get(at.key)?.has(ref.key))
    return { code: "not_ancestor", message: t.notBefore(refText(ref), ref.key, at.key) };
  return undefined;
}

function noOutput(step: Step, name: string): string {
  if (step.job) return t.jobEnded(step.key);
  if (!step.service) return t.noOutput(step.key, name);
  if (name === "url") return t.noUrl(step.key);
  return name === "port" ? t.noPort(step.key) : t.noOutput(step.key, name);
}

function checkTypes(step: Step, by: Map<string, Step>, catalogue: Catalogue, fail: Fail) {
  for (const input of inputsOf(step, catalogue)) {
    if (input.type === "any") continue;
    const only = parseSingleExpression(input.value);
    const from = only && typeOfExpression(only, by, catalogue);
    // A secret's field takes any secret; what is no secret at all the server knows best.
    if (!from || input.path.startsWith("plugin.secrets.")) continue;
    if (!isAssignable(from, input.type))
      fail(
        input.path,
        "wrong_type",
        t.wrongType(calledText(only.ref, only.calls), t.types[from], t.types[input.type]),
      );
  }
}

export function typeOfRef(ref: Ref, by: Map<string, Step>, catalogue: Catalogue): PortType {
  if (ref.scope === "secrets") return "secret";
  if (ref.scope === "deployment") return "text";
  // A number or a yes, too: the server knows.
  if (ref.scope === "input") return "any";
  const step = by.get(ref.key);
  const port = step && outputsOf(step, catalogue).find((one) => one.name === ref.name);
  return port?.type ?? "any";
}

/** What a function makes is text; of a secret it stays one. */
export function typeOfExpression(
  { ref, calls }: Expression,
  by: Map<string, Step>,
  catalogue: Catalogue,
): PortType {
  const type = typeOfRef(ref, by, catalogue);
  return calls.length === 0 || type === "secret" ? type : "text";
}

/** What the server found, in the editor's form. */
export function fromServer(all: Schemas["FieldProblem"][]): Problem[] {
  return all.map((one) => ({
    step: one.step || undefined,
    field: one.field ?? "",
    code: one.code,
    message: one.message,
  }));
}

export function byStep(problems: Problem[]): Map<string, Problem[]> {
  const all = new Map<string, Problem[]>();
  for (const problem of problems) {
    const key = problem.step ?? "";
    all.set(key, [...(all.get(key) ?? []), problem]);
  }
  return all;
}
