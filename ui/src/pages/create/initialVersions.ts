import type { Schemas } from "@/api/client";
import { isName } from "@/components/names";
import { createTexts } from "@/pages/create/createTexts";
import { deadlineProblem } from "./Deadline";
import { countRefusals, nothingRefused, type Refusal } from "./refusal";
import type { Clone } from "./target";

const t = createTexts;

/** The versions a sheet begins with: those of a clone's source, or of a template. */
export function initialVersions(
  clone?: Clone,
  template?: Schemas["Template"],
): Record<string, string> {
  const cloned = clone?.services ?? [];
  return {
    ...Object.fromEntries(cloned.flatMap((one) => (one.choice ? [[one.step, one.choice]] : []))),
    ...template?.versions,
  };
}

/** What can be seen to be wrong without asking. */
export function checkForm(
  name: string,
  chosen: { step: string; value: string }[],
  minutes: string,
  input: Record<string, string> = {},
): Refusal | undefined {
  const fields: Refusal["fields"] = {};
  if (!name) fields.name = t.nameMissing;
  else if (!isName(name)) fields.name = t.nameWrong;
  const late = deadlineProblem(minutes);
  if (late) fields.deadline = late;
  for (const one of chosen) if (!one.value) fields[`versions.${one.step}`] = t.tagMissing(one.step);
  for (const [field, missing] of Object.entries(input)) fields[`input.${field}`] = missing;
  const found = { ...nothingRefused, fields };
  return countRefusals(found) > 0 ? found : undefined;
}
