import type { Schemas } from "@/api/client";
import { isName } from "@/components/names";
import { emptyToUndefined, onlyProblems, toNumber } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import { templateTexts as t } from "@/pages/templates/templateTexts";

type Template = Schemas["Template"];

/** A template as its form holds it. */
export const initialValues = (stored?: Template) => ({
  name: stored?.name ?? "",
  description: stored?.description ?? "",
  environment: stored?.environment ?? "",
  deployment_name: stored?.deployment_name ?? "",
  versions: stored?.versions ?? {},
  /** It has no field here; what is stored stays. */
  input: stored?.input,
  wait: stored?.wait ?? false,
  priority: stored?.priority?.toString() ?? "",
});
export type Values = ReturnType<typeof initialValues>;

/** Only versions of services with a choice; others cannot be stored. */
export function bodyOf(values: Values, selectable: { step: string }[]): Schemas["TemplatePut"] {
  const kept = selectable.flatMap(({ step }) => {
    const tag = values.versions[step];
    return tag ? [[step, tag] as const] : [];
  });
  return {
    description: emptyToUndefined(values.description),
    environment: emptyToUndefined(values.environment),
    deployment_name: emptyToUndefined(values.deployment_name),
    versions: Object.fromEntries(kept),
    input: values.input,
    wait: values.wait,
    priority: toNumber(values.priority),
  };
}

export function findProblems(values: Values, taken?: string[]) {
  const { deployment_name: name, priority } = values;
  const number = toNumber(priority);
  return onlyProblems({
    name: taken ? nameProblem(values.name, taken) : undefined,
    deployment_name: name === "" || isName(name) ? undefined : t.deploymentNameWrong,
    priority: number === undefined || (number >= 0 && number <= 255) ? undefined : t.priorityWrong,
  });
}
