import { editorTexts } from "@/editorTexts";
import { ancestorsOf, type Catalogue, fits, outputsOf, type PortType } from "./catalogue";
import { refTo, whyNotNeed } from "./edit";
import { DEPLOYMENT_FIELDS, written } from "./expr";
import type { Doc, Step } from "./model";
import type { Offer } from "./Refer";

const t = editorTexts.step.referenceGroups;
/** Whoever sees the deployment reads these, so no secret may be in them. */
const OPEN = ["service.command", "approval.prompt"];

/** What a field may refer to: outputs of steps that are or could be earlier, secrets, the deployment. */
export function offersOf(
  doc: Doc,
  catalogue: Catalogue,
  step: Step,
  type: PortType,
  path: string,
): Offer[] {
  const before = ancestorsOf(doc).get(step.key);
  const secretsOnly = path.startsWith("plugin.secrets.");
  const takes = (from: PortType) =>
    secretsOnly
      ? from === "secret"
      : fits(from, type) && !(from === "secret" && OPEN.includes(path));
  const steps = doc.steps
    .filter((one) => one.key !== step.key)
    .filter((one) => before?.has(one.key) || whyNotNeed(doc, one.key, step.key) !== "circle")
    .flatMap((one) =>
      outputsOf(one, catalogue)
        .filter((port) => takes(port.type))
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
  return [...steps, ...(takes("secret") ? secrets : []), ...(takes("text") ? deployment : [])];
}
