import { editorTexts } from "@/editor/editorTexts";

const t = editorTexts.problem;

/** References in strings, as the server reads them (pipeline/expr.go, pipeline/functions.go). */
export type Ref =
  | { scope: "steps"; key: string; name: string }
  | { scope: "services"; key: string; name: "host" | "port" | "url" }
  | { scope: "secrets"; name: string }
  | { scope: "input"; name: string }
  | { scope: "deployment"; name: string };

/** What may stand around a reference. The set is closed, on the server too. */
export const FUNCTIONS = ["base64", "json", "lower", "urlencode"] as const;
export type Func = (typeof FUNCTIONS)[number];
/** How many functions may stand in one another. */
const MAX_CALLS = 3;

/** A reference with the functions around it, the innermost first. */
export type Expression = { ref: Ref; calls: Func[] };
/** `at` and `end` are where its braces begin and end. */
type Placed = Expression & { at: number; end: number };

export type Part = { text: string } | Placed;
export type Parsed = { parts: Part[]; wrong?: { at: number; why: string } };

export const DEPLOYMENT_FIELDS = ["name", "id", "environment", "project", "domain"];

export function refText(ref: Ref): string {
  if (ref.scope === "steps") return `steps.${ref.key}.outputs.${ref.name}`;
  if (ref.scope === "services") return `services.${ref.key}.${ref.name}`;
  return `${ref.scope}.${ref.name}`;
}

/** As it stands in a field. */
export function formatExpression(ref: Ref, calls: Func[] = []): string {
  return `\${{ ${calledText(ref, calls)} }}`;
}

/** A reference within its functions, without the braces. */
export function calledText(ref: Ref, calls: Func[]): string {
  return calls.reduce((text, name) => `${name}(${text})`, refText(ref));
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
    const found = expressionOf(trimBlanks(text.slice(open + 3, end)));
    if (typeof found === "string") return { parts, wrong: { at: open + 3, why: found } };
    at = end + 2;
    parts.push({ ...found, at: open, end: at });
  }
}

/** Only spaces and tabs may stand around what is in the braces. */
function trimBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, "");
}

function isFunction(name: string): name is Func {
  return (FUNCTIONS as readonly string[]).includes(name);
}

/** What stands between the braces: a reference, or one with functions around it. */
function expressionOf(inner: string): Expression | string {
  const open = inner.indexOf("(");
  if (open < 0) {
    const ref = refOf(inner);
    return typeof ref === "string" ? ref : { ref, calls: [] };
  }
  const name = trimBlanks(inner.slice(0, open));
  if (!isFunction(name)) return t.noFunction(name, FUNCTIONS.join(", "));
  const argument = inner.slice(open + 1, -1);
  if (!inner.endsWith(")") || argument.includes(",") || !trimBlanks(argument))
    return t.argument(name);
  const found = expressionOf(trimBlanks(argument));
  if (typeof found === "string") return found;
  if (found.calls.length >= MAX_CALLS) return t.manyCalls(MAX_CALLS);
  return { ref: found.ref, calls: [...found.calls, name] };
}

function refOf(inner: string): Ref | string {
  const words = inner.split(".");
  const [scope, key = "", third = "", name = ""] = words;
  if (!/^[A-Za-z0-9_.-]+$/.test(inner)) return t.refWords;
  if (scope === "steps" && words.length === 4 && third === "outputs" && key && name)
    return { scope, key, name };
  if (scope === "services" && words.length === 3 && key)
    if (third === "host" || third === "port" || third === "url") return { scope, key, name: third };
  if ((scope === "secrets" || scope === "input") && words.length === 2 && key)
    return { scope, name: key };
  if (scope === "deployment" && words.length === 2 && DEPLOYMENT_FIELDS.includes(key))
    return { scope, name: key };
  return t.noRef(inner);
}

export function refsOf(text: string): Ref[] {
  return parse(text).parts.flatMap((part) => ("ref" in part ? part.ref : []));
}

/** The reference and its functions, when there is nothing else in the text. */
export function parseSingleExpression(text: unknown): Expression | undefined {
  if (typeof text !== "string") return undefined;
  const { parts, wrong } = parse(text);
  const [only] = parts;
  return !wrong && parts.length === 1 && only && "ref" in only ? only : undefined;
}

/** The reference, when the text is exactly one without functions: it keeps its type then. */
export function parseSingleRef(text: unknown): Ref | undefined {
  const only = parseSingleExpression(text);
  return only?.calls.length === 0 ? only.ref : undefined;
}

/** The text with some of its expressions written otherwise; undefined leaves one as it is. */
export function rewriteExpressions(
  text: string,
  change: (one: Expression) => string | undefined,
): string {
  let out = "";
  let behind = 0;
  for (const part of parse(text).parts) {
    const next = "ref" in part ? change(part) : undefined;
    if (!("ref" in part) || next === undefined) continue;
    out += text.slice(behind, part.at) + next;
    behind = part.end;
  }
  return out + text.slice(behind);
}

/** Wraps a function around the expression at or before a position, or else around the last one. */
export function wrapInFunction(text: string, name: Func, at = text.length): string {
  const all = parse(text).parts.filter((part) => "ref" in part);
  const one = all.findLast((part) => part.at < at) ?? all[0];
  if (!one || one.calls.length >= MAX_CALLS) return text;
  const inside = formatExpression(one.ref, [...one.calls, name]);
  return text.slice(0, one.at) + inside + text.slice(one.end);
}

/** Whether a function can be put around an expression of the text. */
export function canWrap(text: unknown): boolean {
  return (
    typeof text === "string" &&
    parse(text).parts.some((part) => "ref" in part && part.calls.length < MAX_CALLS)
  );
}

/** Every string in a tree of values, with its path below `at`. */
export function listStrings(tree: unknown, at: string): { path: string; text: string }[] {
  if (typeof tree === "string") return [{ path: at, text: tree }];
  if (Array.isArray(tree)) return tree.flatMap((item, i) => listStrings(item, `${at}[${i}]`));
  if (!tree || typeof tree !== "object") return [];
  return Object.entries(tree).flatMap(([key, value]) => listStrings(value, `${at}.${key}`));
}

/** The references in a value and in all its parts. */
export function refsIn(tree: unknown): Ref[] {
  return listStrings(tree, "").flatMap(({ text }) => refsOf(text));
}

/** The same tree with every string mapped. */
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
  if (parse(text).wrong) return text;
  return rewriteExpressions(text, ({ ref, calls }) => {
    const key = "key" in ref ? names.get(ref.key) : undefined;
    return key === undefined ? undefined : formatExpression({ ...ref, key } as Ref, calls);
  });
}
