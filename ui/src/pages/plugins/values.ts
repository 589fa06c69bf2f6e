import type { Schemas } from "@/api/client";
import { emptyToUndefined, fromLines, onlyProblems, toNumber } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import type { Errors } from "@/forms/useForm";
import { pluginTexts as t } from "@/pages/catalogTexts";
import { readJson, readSchema } from "./schema";

type Plugin = Schemas["Plugin"];
type Component = Schemas["Component"];

const json = (value: unknown) => (value ? JSON.stringify(value, inOrder, 2) : "");

/** Objects with the names in the order that is noted of them, and without the note, which is made anew. */
function inOrder(name: string, value: unknown): unknown {
  if (name === "x-order" && Array.isArray(value)) return undefined;
  const { "x-order": order, properties } = (value ?? {}) as Record<string, object>;
  if (!Array.isArray(order) || !properties) return value;
  const rank = (one: string) => (order.includes(one) ? order.indexOf(one) : order.length);
  const sorted = Object.entries(properties).sort(([a], [b]) => rank(a) - rank(b));
  return { ...(value as object), properties: Object.fromEntries(sorted) };
}
const number = (value?: number) => (value ? String(value) : "");

/** A plugin as its form holds it: texts, so that half-typed JSON is kept as it is. */
export const pluginValues = (stored?: Plugin) => {
  const component: Component = stored?.component ?? { actions: ["create"] };
  const actions = component.actions ?? ["create"];
  return {
    name: stored?.name ?? "",
    registry: stored?.registry ?? "",
    image: stored?.image ?? "",
    tag: stored?.tag ?? "",
    description: component.description ?? "",
    parameters: json(component.parameters),
    outputs: json(component.outputs),
    secrets: (component.secrets ?? [])
      .map((one) => (one.required === false ? `${one.name}?` : one.name))
      .join("\n"),
    create: actions.includes("create"),
    delete: actions.includes("delete"),
    check: actions.includes("check"),
    timeout_seconds: number(component.timeout_seconds),
    cpu: component.resources?.cpu ? String(component.resources.cpu) : "",
    memory_mib: number(component.resources?.memory_mib),
    network: component.network ?? false,
    idempotent: component.idempotent ?? false,
  };
};
export type PluginValues = ReturnType<typeof pluginValues>;

const SECRET = /^[A-Z][A-Z0-9_]{0,62}\??$/;

export function pluginProblems(
  values: PluginValues,
  taken: string[] | undefined,
): Errors<PluginValues> {
  const wrongSecret = fromLines(values.secrets)?.find((line) => !SECRET.test(line));
  return onlyProblems({
    name: taken ? nameProblem(values.name, taken) : undefined,
    registry: values.registry ? undefined : t.registryMissing,
    image: values.image.trim() ? undefined : t.imageMissing,
    tag: values.tag.trim() ? undefined : t.tagMissing,
    parameters: readSchema(values.parameters).wrong,
    outputs: readSchema(values.outputs).wrong,
    secrets: wrongSecret ? t.secretWrong(wrongSecret) : undefined,
    create: values.create ? undefined : t.actionsMissing,
    timeout_seconds: numberProblem(values.timeout_seconds),
    memory_mib: numberProblem(values.memory_mib),
    cpu: values.cpu === "" || Number(values.cpu) >= 0 ? undefined : t.numberWrong,
  });
}

const numberProblem = (text: string) => (Number.isNaN(toNumber(text)) ? t.numberWrong : undefined);

/** The component a form means; what the form does not know of it stays as it is stored. */
export function componentOf(values: PluginValues, stored?: Component): Component {
  const known = new Map((stored?.secrets ?? []).map((one) => [one.name, one]));
  const secrets = fromLines(values.secrets)?.map((line) => {
    const name = line.replace(/\?$/, "");
    return { ...known.get(name), name, required: !line.endsWith("?") };
  });
  const resources = {
    cpu: values.cpu ? Number(values.cpu) : undefined,
    memory_mib: toNumber(values.memory_mib),
  };
  return {
    ...stored,
    description: emptyToUndefined(values.description),
    parameters: readJson(values.parameters).value,
    outputs: readJson(values.outputs).value,
    secrets,
    actions: (["create", "delete", "check"] as const).filter((action) => values[action]),
    timeout_seconds: toNumber(values.timeout_seconds),
    resources: resources.cpu || resources.memory_mib ? resources : undefined,
    network: values.network || undefined,
    idempotent: values.idempotent || undefined,
  };
}
