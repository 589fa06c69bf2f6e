import { editorTexts } from "@/editor/editorTexts";
import { canonical, type Step } from "./document";

/** One step or comment field by field: path → value. What a person calls one thing is one field. */
export type Fields = Map<string, unknown>;

/** Maps whose entries are fields of their own. */
const OPEN = new Set([
  "service",
  "job",
  "plugin",
  "approval",
  "service.env",
  "service.resources",
  "job.env",
  "job.resources",
  "job.tests",
  "plugin.parameters",
  "plugin.secrets",
  "plugin.resources",
  "script",
  "script.parameters",
  "script.secrets",
]);

/** Lists whose entries are fields of their own, by what a person knows each by. */
const LISTS: Record<string, string> = {
  "service.files": "path",
  "service.ports": "name",
  "service.volumes": "name",
  "service.tmpfs": "path",
  "job.files": "path",
  "job.ports": "name",
  "job.volumes": "name",
  "job.tmpfs": "path",
  "approval.fields": "name",
};

const KINDS = ["service", "job", "plugin", "approval", "script"] as const;

export function fieldsOf(step: Step): Fields {
  const out: Fields = new Map();
  const walk = (value: object, at: string) => {
    for (const [key, part] of Object.entries(value)) {
      const path = at ? `${at}.${key}` : key;
      if (path === "key" || part === undefined) continue;
      // Waiting for nothing is said by an empty list, and by none.
      if (path === "needs" && (part as unknown[]).length === 0) continue;
      const by = LISTS[path];
      if (by && Array.isArray(part))
        for (const [id, one] of entriesByName(part, by)) out.set(`${path}.${id}`, one);
      else if (OPEN.has(path) && part && typeof part === "object") walk(part, path);
      else out.set(path, part);
    }
  };
  walk(step, "");
  // A kind without any field is still a kind.
  for (const kind of KINDS)
    if (step[kind]) out.set(`${kind}.name`, (step[kind] as { name?: string }).name ?? "");
  return out;
}

/**
 * The entries of a list by name. While the user types, two may share one: the second is “name (2)”.
 */
function entriesByName(list: unknown[], by: string): Map<string, unknown> {
  const out = new Map<string, unknown>();
  for (const one of list) {
    const name = String((one as Record<string, unknown> | null)?.[by] ?? "");
    let id = name;
    for (let i = 2; out.has(id); i++) id = `${name} (${i})`;
    out.set(id, one);
  }
  return out;
}

/** The step that has these fields. */
export function buildStep(key: string, fields: Fields): Step {
  const out: Record<string, unknown> = { key };
  for (const [path, value] of fields) {
    const [first = "", second = "", ...rest] = path.split(".");
    const two = `${first}.${second}`;
    // A field of the kind that the step was in another window, before it became another kind.
    if (KINDS.some((kind) => kind === first) && !fields.has(`${first}.name`)) continue;
    if (rest.length > 0 && two in LISTS) listAt(out, first, second).push(value);
    else if (rest.length > 0 && OPEN.has(two))
      setOwn(mapAt(mapAt(out, first), second), rest.join("."), value);
    else if (second && OPEN.has(first))
      setOwn(mapAt(out, first), [second, ...rest].join("."), value);
    else setOwn(out, path, value);
  }
  for (const nameless of [out.approval, out.script] as (Record<string, unknown> | undefined)[])
    if (nameless) delete nameless.name;
  return out as unknown as Step;
}

type Tree = Record<string, unknown>;

/** A variable or parameter may be called `__proto__`: it is a name like any other. */
function setOwn(tree: Tree, name: string, value: unknown) {
  Object.defineProperty(tree, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function mapAt(tree: Tree, word: string): Tree {
  tree[word] ??= {};
  return tree[word] as Tree;
}

function listAt(tree: Tree, first: string, second: string): unknown[] {
  const map = mapAt(tree, first);
  map[second] ??= [];
  return map[second] as unknown[];
}

export type Change = { path: string; old?: unknown; now?: unknown };

export function compareFields(was: Fields, is: Fields): Change[] {
  const paths = [...new Set([...was.keys(), ...is.keys()])].sort();
  return paths.flatMap((path) =>
    isSameValue(was.get(path), is.get(path)) ? [] : { path, old: was.get(path), now: is.get(path) },
  );
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return a === b || canonical(a ?? null) === canonical(b ?? null);
}

const t = editorTexts.step;

/** Fields whose labels in the inspector's texts have other names. */
const LABELS: Record<string, string> = {
  memory_mib: "memory",
  timeout_seconds: "timeout",
  stop_signal: "stopSignal",
  stop_grace_seconds: "stopGrace",
  extra_hosts: "extraHosts",
};

/**
 * A field as a person knows it in the context of its step: service.env.PORT is PORT, and
 * service.ports[1].port the second of the ports.
 */
export function shortField(field: string): string {
  const [, group, rest = field] =
    /^(?:service|job|plugin|approval|script)\.(?:(env|parameters|secrets|resources|files)\.)?(.+)/.exec(
      field,
    ) ?? [];
  if (group && group !== "resources") return rest;
  const [, word = "", index] = /^(\w+)(?:\[(\d+)\])?/.exec(rest) ?? [];
  const label = t[(LABELS[word] ?? word) as "key"];
  if (typeof label !== "string") return rest;
  return label.split(",")[0] + (index === undefined ? "" : ` ${Number(index) + 1}`);
}
