import { editorTexts } from "@/editor/editorTexts";
import {
  acceptsOutput,
  ancestorsOf,
  type Catalogue,
  hasOtherText,
  inputsOf,
  outputsOf,
  type PortType,
} from "./catalogue";
import { type Doc, readField, type Step } from "./document";
import { inputAt, refTo } from "./edit";
import { canWrap, DEPLOYMENT_FIELDS, FUNCTIONS, formatExpression } from "./expressions";

const t = editorTexts.step.referenceGroups;

/** A reference that a field could hold, and what it is called in the menu. */
export type ReferenceOption = { group: string; text: string; label: string; type: PortType };

/** What a field may refer to: outputs of steps that are or could be earlier, secrets, the deployment. */
export function referenceOptions(
  doc: Doc,
  catalogue: Catalogue,
  step: Step,
  type: PortType,
  path: string,
): ReferenceOption[] {
  const all = ancestorsOf(doc);
  const asked = { ...inputAt(inputsOf(step, catalogue), path), type };
  const isSecret = path.startsWith("plugin.secrets.");
  // One that is put together, such as an address with a password in it, may hold anything besides.
  const secretsOnly = isSecret && !hasOtherText(asked.value);
  const fit = (from: PortType) =>
    secretsOnly ? from === "secret" : isSecret || acceptsOutput(asked, from);
  const steps = doc.steps
    .filter((one) => one.key !== step.key)
    .flatMap((one) =>
      outputsOf(one, catalogue)
        .filter((port) => fit(port.type))
        // Of a step that runs after this one nothing can be read but where it will be.
        .filter((port) => port.type === "url" || !all.get(one.key)?.has(step.key))
        .map((port) => ({
          group: one.key,
          text: formatExpression(refTo(doc, one.key, port.name)),
          label: `${one.key} › ${port.label}`,
          type: port.type,
        })),
    );
  const secrets = catalogue.secrets.map<ReferenceOption>((name) => ({
    group: t.secrets,
    text: formatExpression({ scope: "secrets", name }),
    label: name,
    type: "secret",
  }));
  const deployment = DEPLOYMENT_FIELDS.map<ReferenceOption>((name) => ({
    group: t.deployment,
    text: formatExpression({ scope: "deployment", name }),
    label: name,
    type: "text",
  }));
  const input = (doc.input ?? [])
    .map<ReferenceOption>((one) => ({
      group: t.input,
      text: formatExpression({ scope: "input", name: one.name }),
      label: one.label || one.name,
      type: one.type === "integer" || one.type === "number" ? "number" : "text",
    }))
    .filter((one) => fit(one.type));
  return [
    ...functions(readField(step, path)),
    ...steps,
    ...(fit("secret") ? secrets : []),
    ...input,
    ...(fit("text") ? deployment : []),
  ];
}

/** What can be put around a reference that the field has already. */
function functions(value: unknown): ReferenceOption[] {
  if (!canWrap(value)) return [];
  return FUNCTIONS.map((name) => ({
    group: t.functions,
    text: name,
    label: t.around(name),
    type: "text",
  }));
}
