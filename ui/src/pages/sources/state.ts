import type { Schemas } from "@/api/client";
import type { StepChange } from "@/editor/model/merge";

type Source = Schemas["DefinitionSource"];
type Change = Schemas["DefinitionSourceChange"];

/** What a status looks like. */
export const looks: Record<Source["status"], string> = {
  new: "queued",
  synced: "ready",
  waiting: "waiting",
  failed: "failed",
};

const kinds = { created: "added", deleted: "removed", changed: "changed" } as const;

/** A definition, or a part of a project, as the list of changes draws it. */
export function toStepChanges(one: Change): StepChange[] {
  if (one.action === "unchanged") return [];
  const key = [one.kind, one.name, one.part].filter(Boolean).join(" ");
  const fields = one.changes.map(({ path, old, new: now }) => ({ path, old, now }));
  const own: StepChange = { key, kind: kinds[one.action], fields: fields as StepChange["fields"] };
  return [own, ...stepsOf(one.diff)];
}

/** The steps of a changed pipeline. */
function stepsOf(diff: Change["diff"]): StepChange[] {
  if (!diff) return [];
  return [
    ...diff.added.map(({ key }): StepChange => ({ key, kind: "added", fields: [] })),
    ...diff.removed.map(({ key }): StepChange => ({ key, kind: "removed", fields: [] })),
    ...diff.changed.map(
      ({ key, fields }): StepChange => ({
        key,
        kind: "changed",
        fields: fields.map(({ path, old, new: now }) => ({
          path,
          old,
          now,
        })) as StepChange["fields"],
      }),
    ),
  ];
}
