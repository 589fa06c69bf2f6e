import type { Schemas } from "@/api/client";
import { emptyToUndefined, onlyProblems, toNumber } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import { sourceTexts as t } from "./sourceTexts";

type Source = Schemas["DefinitionSource"];
type Kind = Schemas["DocumentKind"];

/** What a source may define unless an admin says otherwise; the server has the same list. */
const usual: Kind[] = [
  "registry",
  "service",
  "plugin",
  "environment",
  "node-template",
  "project",
  "webhook",
  "rule",
];

/** The form's values. Secret and token are never read back, so they begin empty. */
export const initialValues = (stored?: Source) => ({
  name: stored?.name ?? "",
  url: stored?.url ?? "",
  branch: stored?.branch ?? "main",
  folder: stored?.folder ?? "",
  username: stored?.username ?? "",
  token: "",
  forget: false,
  ca: stored?.ca ?? "",
  mode: stored?.mode ?? ("confirm" as Source["mode"]),
  period: String(stored?.period_minutes ?? 5),
  removes: stored?.removes ?? false,
  people: stored?.kinds.includes("user") ?? false,
  nodes: stored?.kinds.includes("node") ?? false,
  webhook: stored?.webhook ?? ("" as NonNullable<Source["webhook"]> | ""),
  secret: "",
  active: stored?.active ?? true,
});

export type Values = ReturnType<typeof initialValues>;

/** What is sent: an absent secret or token keeps the stored one, an empty token forgets it. */
export const bodyOf = (values: Values, stored?: Source): Schemas["DefinitionSourcePut"] => ({
  url: values.url.trim(),
  branch: emptyToUndefined(values.branch),
  folder: emptyToUndefined(values.folder),
  username: emptyToUndefined(values.username),
  token: values.forget ? "" : values.token || undefined,
  ca: emptyToUndefined(values.ca),
  mode: values.mode,
  period_minutes: toNumber(values.period),
  removes: values.removes,
  kinds: kindsOf(values, stored),
  webhook: values.webhook || undefined,
  secret: values.secret || undefined,
  active: values.active,
});

/** A narrower choice, made with the command line, is kept. */
function kindsOf(values: Values, stored?: Source): Kind[] {
  const rest = (stored?.kinds ?? usual).filter((kind) => !["user", "team", "node"].includes(kind));
  return [
    ...rest,
    ...(values.people ? (["user", "team"] as const) : []),
    ...(values.nodes ? (["node"] as const) : []),
  ];
}

export function findProblems(values: Values, stored: boolean, taken: string[]) {
  const period = toNumber(values.period) ?? 0;
  return onlyProblems({
    name: stored ? undefined : nameProblem(values.name, taken),
    url: values.url.trim() ? undefined : t.urlMissing,
    period: period >= 1 && period <= 10_080 ? undefined : t.periodWrong,
  });
}
