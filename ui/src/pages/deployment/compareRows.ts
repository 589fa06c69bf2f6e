import type { Schemas } from "@/api/client";
import { sayField } from "@/components/fieldTexts";

type Comparison = Schemas["RunComparison"];
type Field = Schemas["ComparedField"];

/** One thing that differs; a side that is missing was not there. */
export type ComparedRow = { key: string; what: string[]; good?: string; run?: string };

/** Tags are what people chose; where both have the same, the image behind it differs. */
export function versionRows(versions: Comparison["versions"]): ComparedRow[] {
  return versions
    .filter((one) => !one.same)
    .map(({ step, good, run }) => {
      const moved = good && run && good.tag === run.tag;
      const say = (side?: Schemas["ServiceVersion"]) =>
        side && (moved || !side.tag ? `${side.tag} ${side.digest}`.trim() : side.tag);
      return { key: step, what: [step], good: say(good), run: say(run) };
    });
}

/** Of a step that only one side has, the steps tell; its fields would only say that again. */
export function pipelineRows(fields: Field[]): ComparedRow[] {
  return fields
    .filter(({ path }) => /^steps\.[^.]+\./.test(path))
    .map((field) => fieldRow(field, splitStep(field.path)));
}

/** The environment, the node and what was typed. */
export function placeRows(fields: Field[]): ComparedRow[] {
  return fields
    .filter(({ path }) => !path.startsWith("steps"))
    .map((field) => fieldRow(field, [sayField(field.path), ""]));
}

function fieldRow({ path, good, run }: Field, what: string[]): ComparedRow {
  return { key: path, what, good: say(good), run: say(run) };
}

/** The step of `steps.api.service.env.A`, and the field of it. */
function splitStep(path: string): string[] {
  const [, step = "", ...field] = path.split(".");
  return [step, sayField(field.join("."))];
}

function say(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}

/** How much longer a step took, in ms; undefined where one side has no time. */
export function differenceOf({ good, run }: Schemas["ComparedStep"]): number | undefined {
  if (good?.seconds === undefined || run?.seconds === undefined) return undefined;
  return (run.seconds - good.seconds) * 1000;
}
