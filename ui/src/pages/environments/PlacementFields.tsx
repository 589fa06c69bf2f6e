import type { Schemas } from "@/api/client";
import { TextArea, TextField } from "@/forms/Fields";
import { fromLines, toLines, toNumber } from "@/forms/formValues";
import type { Form } from "@/forms/useForm";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";

type Placement = Schemas["Placement"];

/** The part of a form that says which nodes are asked for; environments and projects have it. */
export const placementValues = (stored?: Placement) => ({
  required: toLines(stored?.required),
  forbidden: toLines(stored?.forbidden),
  preferred: toLines(stored?.preferred),
  tolerations: toLines(stored?.tolerations),
  gpu_memory_mib: stored?.gpu_memory_mib ? String(stored.gpu_memory_mib) : "",
});

export function placementOf(values: ReturnType<typeof placementValues>): Placement | undefined {
  const placement: Placement = {
    required: fromLines(values.required),
    forbidden: fromLines(values.forbidden),
    preferred: fromLines(values.preferred),
    tolerations: fromLines(values.tolerations),
    gpu_memory_mib: toNumber(values.gpu_memory_mib),
  };
  return Object.values(placement).some((one) => one !== undefined) ? placement : undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: a field does not care what else its form holds.
type AnyForm = Form<any>;

/** Folded away until something is in it: most have nothing to ask of nodes. */
export function PlacementFields({ form }: { form: AnyForm }) {
  const used = ["required", "forbidden", "preferred", "tolerations", "gpu_memory_mib"].some(
    (name) => form.values[name] || form.errors[name],
  );
  return (
    <details className="fold" open={used}>
      <summary>{t.placement}</summary>
      <div className="col gap-4 pt-3">
        <TextArea form={form} name="required" label={t.requiredLabels} mono rows={2} optional />
        <TextArea form={form} name="forbidden" label={t.forbiddenLabels} mono rows={2} optional />
        <TextArea form={form} name="preferred" label={t.preferredLabels} mono rows={2} optional />
        <TextArea
          form={form}
          name="tolerations"
          label={t.tolerations}
          hint={t.placementHint}
          mono
          rows={2}
          optional
        />
        <TextField
          form={form}
          name="gpu_memory_mib"
          type="number"
          label={t.gpu}
          hint={t.gpuHint}
          optional
        />
      </div>
    </details>
  );
}
