import { ancestorsOf, type Catalogue } from "./catalogue";
import { containerOf, type Doc, type Step } from "./document";
import { type Expression, type Func, formatExpression, parse, type Ref } from "./expressions";
import { typeOfRef, whyInvalidRef } from "./problems";

/** A part of a value. What leads nowhere is `wrong`, and says why: no run would come so far. */
export type Piece = { text: string; kind: "known" | "later" | "secret" | "wrong"; why?: string };

/** What a deployment is called in the preview. */
export type Sample = {
  name: string;
  environment: string;
  project: string;
  domain: string;
  /** The scheme of a URL, and its domain after service.deployment; absent without environments. */
  scheme?: string;
  suffix?: string;
};

/** The environments that the preview could be of, and another one in its place. */
export type Samples = Sample & { all: string[]; choose: (environment: string) => void };

/** The environment a service will start with, as far as it is known now. Secrets stay masked. */
export function environmentOf(
  step: Step,
  doc: Doc,
  catalogue: Catalogue,
  sample: Sample,
): { name: string; pieces: Piece[] }[] {
  const by = new Map(doc.steps.map((one) => [one.key, one]));
  const before = ancestorsOf(doc);
  return Object.entries(containerOf(step)?.env ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => {
      const { parts, wrong } = parse(value);
      const pieces = parts.map((part): Piece => {
        if ("text" in part) return { text: part.text, kind: "known" };
        const why = whyInvalidRef(part.ref, step, by, before, catalogue)?.message;
        if (why) return { text: formatExpression(part.ref, part.calls), kind: "wrong", why };
        return evaluateCalls(part, previewRef(part.ref, by, catalogue, sample));
      });
      return { name, pieces: wrong ? [...pieces, invalidPiece(value, wrong)] : pieces };
    });
}

/** What the functions come to is known where it is only text; of others stands what is called. */
function evaluateCalls({ ref, calls }: Expression, inner: Piece): Piece {
  if (calls.length === 0 || inner.kind === "secret") return inner;
  // A port is a number, which JSON has without quotes.
  const known = ref.scope === "services" && ref.name === "port" && calls[0] === "json";
  const rest = known ? calls.slice(1) : calls;
  if (inner.kind === "known") return { ...inner, text: rest.reduce(applyFunction, inner.text) };
  return { ...inner, text: calls.reduce((text, name) => `${name}(${text})`, inner.text) };
}

/** A function as the server applies it (pipeline/functions.go). */
function applyFunction(text: string, name: Func): string {
  if (name === "lower") return text.toLowerCase();
  if (name === "json") return JSON.stringify(text);
  if (name === "base64") return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The rest of a value, from where it cannot be read. */
function invalidPiece(value: string, { at, why }: { at: number; why: string }): Piece {
  return { text: value.slice(value.lastIndexOf("${{", at)), kind: "wrong", why };
}

function previewRef(ref: Ref, by: Map<string, Step>, catalogue: Catalogue, sample: Sample): Piece {
  if (typeOfRef(ref, by, catalogue) === "secret") return { text: "[secret]", kind: "secret" };
  if (ref.scope === "deployment") {
    const known = sample[ref.name as keyof Sample];
    return known ? { text: known, kind: "known" } : { text: ref.name, kind: "later" };
  }
  if (ref.scope === "services") return ofService(ref, by.get(ref.key), sample);
  if (ref.scope === "steps") return { text: `${ref.key} › ${ref.name}`, kind: "later" };
  return { text: ref.name, kind: "secret" };
}

function ofService(
  ref: Ref & { scope: "services" },
  step: Step | undefined,
  { name, scheme, suffix }: Sample,
): Piece {
  const port = step?.service?.ports?.[0]?.port;
  if (ref.name === "host") return { text: ref.key, kind: "known" };
  if (ref.name === "port" && port) return { text: String(port), kind: "known" };
  if (ref.name === "url" && scheme && suffix)
    return { text: `${scheme}://${ref.key}.${name}.${suffix}`, kind: "known" };
  return { text: `${ref.key} › ${ref.name}`, kind: "later" };
}
