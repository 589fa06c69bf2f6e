import type { Schemas } from "@/api/client";
import { TextField } from "@/forms/Fields";
import { toNumber } from "@/forms/formValues";
import type { Form } from "@/forms/useForm";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";

type Capacity = Schemas["CapacityRules"];

const textOf = (value?: number) => (value ? String(value) : "");

/** The part of an environment's form that says how room on its nodes is counted. */
export const capacityValues = (stored?: Capacity) => ({
  cpu_overcommit: textOf(stored?.cpu_overcommit),
  busy_cpu_percent: textOf(stored?.busy_cpu_percent),
  busy_seconds: textOf(stored?.busy_seconds),
});

export function capacityOf(values: ReturnType<typeof capacityValues>): Capacity | undefined {
  const capacity: Capacity = {
    cpu_overcommit: values.cpu_overcommit.trim() ? Number(values.cpu_overcommit) : undefined,
    busy_cpu_percent: toNumber(values.busy_cpu_percent),
    busy_seconds: toNumber(values.busy_seconds),
  };
  return Object.values(capacity).some((one) => one !== undefined) ? capacity : undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: a field does not care what else its form holds.
type AnyForm = Form<any>;

/** Folded away while everything is the default. */
export function CapacityFields({ form }: { form: AnyForm }) {
  const used = ["cpu_overcommit", "busy_cpu_percent", "busy_seconds"].some(
    (name) => form.values[name] || form.errors[name],
  );
  return (
    <details className="fold" open={used}>
      <summary>{t.capacity}</summary>
      <div className="col gap-4 pt-3">
        <TextField
          form={form}
          name="cpu_overcommit"
          label={t.overcommit}
          hint={t.overcommitHint}
          optional
        />
        <TextField
          form={form}
          name="busy_cpu_percent"
          type="number"
          label={t.busyPercent}
          hint={t.busyPercentHint}
          optional
        />
        <TextField
          form={form}
          name="busy_seconds"
          type="number"
          label={t.busySeconds}
          hint={t.busySecondsHint}
          optional
        />
      </div>
    </details>
  );
}
