import { editorTexts } from "@/editorTexts";

const t = editorTexts.problem;

/** References in strings, as the server reads them (pipeline/expr.go). */
export type Ref =
  | { scope: "steps"; key: string; name: string }
  | { scope: "services"; key: string; name: "host" | "port" | "url" }
  | { scope: "secrets"; name: string }
  | { scope: "deployment"; name: string };

export type Part = { text: string } | { ref: Ref };
export type Parsed = { parts: Part[]; wrong?: { at: number; why: string } };

export const DEPLOYMENT_FIELDS = ["name", "id", "environment", "project", "domain"];

export function refText(ref: Ref): string {
  if (ref.scope === "steps") return `steps.${ref.key}.outputs.${ref.name}`;
  if (ref.scope === "services") return `services.${ref.key}.${ref.name}`;
  return `${ref.scope}.${ref.name}`;
}

/** As it stands in a field. */
export function written(ref: Ref): string {
  return `\${{ ${refText(ref)} }}`;
}

export function parse(text: string): Parsed {
  const parts: Part[] = [];
  let at = 0;
  const add = (more: string) => {
    const last = parts[parts.length - 1];
    if (!more) return;
    if (last && "text" in last) last.text += more;
    else parts.push({ text: more });
  };
  for (;;) {
    const open = text.indexOf("${{", at);
    if (open < 0) {
      add(text.slice(at));
      return { parts };
    }
    if (text[open - 1] === "$" && open > at) {
      add(`${text.slice(at, open - 1)}\${{`);
      at = open + 3;
      continue;
    }
    add(text.slice(at, open));
    const end = text.indexOf("}}", open);
    if (end < 0) return { parts, wrong: { at: open, why: t.unclosed } };
    const ref = refOf(text.slice(open + 3, end).trim());
    if (typeof ref === "string") return { parts, wrong: { at: open + 3, why: ref } };
    parts.push({ ref });
    at = end + 2;
  }
}

function refOf(inner: string): Ref | string {
  const words = inner.split(".");
  const [scope, key = "", third = "", name = ""] = words;
  if (!/^[A-Za-z0-9_.-]+$/.test(inner)) return t.refWords;
  if (scope === "steps" && words.length === 4 && third === "outputs" && key && name)
    return { scope, key, name };
  if (scope === "services" && words.length === 3 && key)
    if (third === "host" || third === "port" || third === "url") return { scope, key, name: third };
  if (scope === "secrets" && words.length === 2 && key) return { scope, name: key };
  if (scope === "deployment" && words.length === 2 && DEPLOYMENT_FIELDS.includes(key))
    return { scope, name: key };
  return t.noRef(inner);
}

export function refsOf(text: string): Ref[] {
  return parse(text).parts.flatMap((part) => ("ref" in part ? part.ref : []));
}

/** The reference, when the text is exactly one: it keeps its type then. */
export function single(text: unknown): Ref | undefined {
  if (typeof text !== "string") return undefined;
  const { parts, wrong } = parse(text);
  const [only] = parts;
  return !wrong && parts.length === 1 && only && "ref" in only ? only.ref : undefined;
}

/** Every string in a tree of values, with its path below `at`. */
export function strings(tree: unknown, at: string): { path: string; text: string }[] {
  if (typeof tree === "string") return [{ path: at, text: tree }];
  if (Array.isArray(tree)) return tree.flatMap((item, i) => strings(item, `${at}[${i}]`));
  if (!tree || typeof tree !== "object") return [];
  return Object.entries(tree).flatMap(([key, value]) => strings(value, `${at}.${key}`));
}

/** The references in a value and in all its parts. */
export function refsIn(tree: unknown): Ref[] {
  return strings(tree, "").flatMap(({ text }) => refsOf(text));
}

/** The same tree with every string made anew. */
export function mapStrings(tree: unknown, change: (text: string) => string): unknown {
  if (typeof tree === "string") return change(tree);
  if (Array.isArray(tree)) return tree.map((item) => mapStrings(item, change));
  if (!tree || typeof tree !== "object") return tree;
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [key, mapStrings(value, change)]),
  );
}

/** References to some steps lead to others: what renaming and pasting need. */
export function renameRefs(text: string, names: Map<string, string>): string {
  const { parts, wrong } = parse(text);
  if (wrong || !parts.some((part) => "ref" in part)) return text;
  return text.replace(
    /\$?\$\{\{\s*(steps|services)\.([A-Za-z0-9_-]+)(\.[^}]*)\}\}/g,
    (whole, scope, key, rest) => {
      const next = names.get(key);
      return next === undefined || whole.startsWith("$$")
        ? whole
        : `\${{ ${scope}.${next}${rest.trimEnd()} }}`;
    },
  );
}
