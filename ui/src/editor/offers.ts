import { editorTexts } from "@/editorTexts";
import {
  ancestorsOf,
  type Catalogue,
  inputsOf,
  outputsOf,
  type PortType,
  takes,
} from "./catalogue";
import { inputAt, refTo } from "./edit";
import { DEPLOYMENT_FIELDS, written } from "./expr";
import type { Doc, Step } from "./model";
import type { Offer } from "./Refer";

const t = editorTexts.step.referenceGroups;

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
  const secretsOnly = path.startsWith("plugin.secrets.");
  const fit = (from: PortType) => (secretsOnly ? from === "secret" : takes(input, from));
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
  return [...steps, ...(fit("secret") ? secrets : []), ...(fit("text") ? deployment : [])];
}
