import { Time } from "@/components/Time";
import { SelectField, TextField } from "@/forms/Fields";
import type { Form } from "@/forms/useForm";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";
import type { Values } from "./values";

type Props = {
  form: Form<Values>;
  sources: { value: string; label: string }[];
  next?: string;
};

/** Which branch is deployed when, and for how long. */
export function ScheduleFields({ form, sources, next }: Props) {
  return (
    <>
      <SelectField form={form} name="source" label={t.source} options={sources} />
      {next ? (
        <p className="t2 s">
          {t.nextRun} <Time at={next} />
        </p>
      ) : null}
      <TextField
        form={form}
        name="branch"
        label={t.scheduleBranch}
        mono
        maxLength={128}
        hint={t.scheduleBranchHint}
      />
      <div className="two">
        <TextField
          form={form}
          name="schedule.at"
          label={t.at}
          mono
          maxLength={100}
          hint={t.atHint}
        />
        <TextField
          form={form}
          name="schedule.time_zone"
          label={t.timeZone}
          mono
          maxLength={60}
          hint={t.timeZoneHint}
        />
      </div>
      <div className="two">
        <TextField
          form={form}
          name="schedule.lifetime_hours"
          type="number"
          label={t.lifetime}
          optional
          hint={t.lifetimeHint}
        />
        <TextField
          form={form}
          name="schedule.until"
          type="datetime-local"
          label={t.until}
          optional
          hint={t.untilHint}
        />
      </div>
    </>
  );
}
