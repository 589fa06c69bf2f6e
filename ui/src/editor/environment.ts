import type { Catalogue } from "./catalogue";
import { parse, type Ref } from "./expr";
import type { Doc, Step } from "./model";
import { stepOf } from "./model";
import { typeOfRef } from "./problems";

export type Piece = { text: string; kind: "known" | "later" | "secret" };

/** What a deployment is called in the preview. */
export type Sample = {
  name: string;
  environment: string;
  project: string;
  domain: string;
  /** What a URL begins with, and what it has behind service.deployment; absent without environments. */
  scheme?: string;
  suffix?: string;
};

/** The environment a service will start with, as far as it is known now. Secrets stay masked. */
export function environmentOf(
  step: Step,
  doc: Doc,
  catalogue: Catalogue,
  sample: Sample,
): { name: string; pieces: Piece[] }[] {
  const by = new Map(doc.steps.map((one) => [one.key, one]));
  return Object.entries(step.service?.env ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ({
      name,
      pieces: parse(value).parts.map((part) =>
        "text" in part
          ? { text: part.text, kind: "known" as const }
          : piece(part.ref, doc, by, catalogue, sample),
      ),
    }));
}

function piece(
  ref: Ref,
  doc: Doc,
  by: Map<string, Step>,
  catalogue: Catalogue,
  sample: Sample,
): Piece {
  if (typeOfRef(ref, by, catalogue) === "secret") return { text: "[secret]", kind: "secret" };
  if (ref.scope === "deployment") {
    const known = sample[ref.name as keyof Sample];
    return known ? { text: known, kind: "known" } : { text: ref.name, kind: "later" };
  }
  if (ref.scope === "services") return ofService(ref, doc, sample);
  if (ref.scope === "steps") return { text: `${ref.key} › ${ref.name}`, kind: "later" };
  return { text: ref.name, kind: "secret" };
}

function ofService(ref: Ref & { scope: "services" }, doc: Doc, sample: Sample): Piece {
  const port = stepOf(doc, ref.key)?.service?.ports?.[0]?.port;
  const { scheme, suffix } = sample;
  if (ref.name === "host") return { text: ref.key, kind: "known" };
  if (ref.name === "port" && port) return { text: String(port), kind: "known" };
  if (ref.name === "url" && scheme && suffix)
    return { text: `${scheme}://${ref.key}.${sample.name}.${suffix}`, kind: "known" };
  return { text: `${ref.key} › ${ref.name}`, kind: "later" };
}
