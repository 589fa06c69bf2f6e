import { useQuery } from "@tanstack/react-query";
import { environments, projects } from "@/api/queries/catalog";
import { SelectField } from "@/forms/Fields";
import { formTexts } from "@/forms/formTexts";
import type { Form, Values } from "@/forms/useForm";
import { noticeTexts as t } from "@/pages/webhooks/noticeTexts";

type Narrow = Values & { project: string; environment: string };

/** Choices of names; one that is chosen stays among them even when it is gone. */
export function nameOptions(list: { name: string }[] | undefined, chosen: string) {
  const names = new Set(list?.map((one) => one.name));
  if (chosen) names.add(chosen);
  return [...names].sort().map((name) => ({ value: name, label: name }));
}

/** Only of one project, only of one environment. */
export function ScopeFields<V extends Narrow>({ form }: { form: Form<V> }) {
  const of = useQuery(projects);
  const and = useQuery(environments);
  return (
    <div className="two">
      <SelectField
        form={form}
        name="project"
        label={t.project}
        placeholder={t.everyProject}
        options={nameOptions(of.data, form.values.project)}
        source={{ what: formTexts.projectsUnread, of }}
      />
      <SelectField
        form={form}
        name="environment"
        label={t.environment}
        placeholder={t.everyEnvironment}
        options={nameOptions(and.data, form.values.environment)}
        source={{ what: formTexts.environmentsUnread, of: and }}
      />
    </div>
  );
}
