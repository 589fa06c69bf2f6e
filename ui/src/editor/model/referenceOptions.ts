import { editorTexts } from "@/editor/editorTexts";
import {
  ancestorsOf,
  type Catalogue,
  inputsOf,
  isAmong,
  outputsOf,
  type PortType,
  takes,
} from "./catalogue";
import { type Doc, read, type Step } from "./document";
import { inputAt, refTo } from "./edit";
import { canWrap, DEPLOYMENT_FIELDS, FUNCTIONS, written } from "./expressions";

const t = editorTexts.step.referenceGroups;

/** A reference that a field could hold, and what it is called in the menu. */
export type Offer = { group: string; text: string; label: string; type: PortType };

/** What a field may refer to: outputs of steps that are or could be earlier, secrets, the deployment. */
export function offersOf(
  doc: Doc,
  catalogue: Catalogue,
  step: Step,
  type: PortType,
  path: string,
): Offer[] {
  const all = ancestorsOf(doc);
  const input = { ...inputAt(inputsOf(step, catalogue), path), type };
  const isSecret = path.startsWith("plugin.secrets.");
  // One that is put together, such as an address with a password in it, may hold anything besides.
  const secretsOnly = isSecret && !isAmong(input.value);
  const fit = (from: PortType) =>
    secretsOnly ? from === "secret" : isSecret || takes(input, from);
  const steps = doc.steps
    .filter((one) => one.key !== step.key)
    .flatMap((one) =>
      outputsOf(one, catalogue)
        .filter((port) => fit(port.type))
        // Of a step that runs after this one nothing can be read but where it will be.
        .filter((port) => port.type === "url" || !all.get(one.key)?.has(step.key))
        .map((port) => ({
          group: one.key,
          text: written(refTo(doc, one.key, port.name)),
          label: `${one.key} › ${port.label}`,
          type: port.type,
        })),
    );
  const secrets = catalogue.secrets.map<Offer>((name) => ({
    group: t.secrets,
    text: written({ scope: "secrets", name }),
    label: name,
    type: "secret",
  }));
  const deployment = DEPLOYMENT_FIELDS.map<Offer>((name) => ({
    group: t.deployment,
    text: written({ scope: "deployment", name }),
    label: name,
    type: "text",
  }));
  return [
    ...functions(read(step, path)),
    ...steps,
    ...(fit("secret") ? secrets : []),
    ...(fit("text") ? deployment : []),
  ];
}

/** What can be put around a reference that the field has already. */
function functions(value: unknown): Offer[] {
  if (!canWrap(value)) return [];
  return FUNCTIONS.map((name) => ({
    group: t.functions,
    text: name,
    label: t.around(name),
    type: "text",
  }));
}
