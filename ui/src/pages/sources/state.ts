import type { Schemas } from "@/api/client";
import type { StepChange } from "@/editor/model/merge";

type Source = Schemas["DefinitionSource"];
type Change = Schemas["DefinitionSourceChange"];

/** How a source stands. What was applied and was changed here since is in step no more. */
export type Standing = Source["status"] | "drifted";

export const standingOf = ({ status, drift }: Pick<Source, "status" | "drift">): Standing =>
  status === "synced" && drift.length > 0 ? "drifted" : status;

/** What a standing looks like. */
export const looks: Record<Standing, string> = {
  new: "queued",
  synced: "ready",
  drifted: "warn",
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
