import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { useToast } from "@/components/Toast";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch } from "@/forms/etag";
import { CheckField, SelectField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { NameField } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useWhileShown } from "@/forms/useWhileShown";
import { templateTexts as t } from "@/pages/templates/templateTexts";
import { templates } from "../create/queries";
import { nameOptions } from "../webhooks/ScopeFields";
import { VersionFields } from "./VersionFields";
import { bodyOf, findProblems, initialValues } from "./values";

type Props = {
  project: string;
  services: Schemas["ProjectService"][];
  opened?: Opened<Schemas["Template"]>;
  taken: string[];
  reason?: string;
  close: () => void;
};

const PATH = "/api/v1/projects/{name}/templates/{template}";

/** Adds or changes one template. */
export function TemplateSheet({ project, services, opened, taken, reason, close }: Props) {
  const stored = opened?.value;
  const done = useDone(project, close);
  const selectable = services.filter((one) => one.tag_mode === "selectable");
  const form = useForm(initialValues(stored), {
    opened,
    valuesOf: initialValues,
    check: (values) => findProblems(values, stored ? undefined : taken),
    save: (values, over) =>
      ask(
        client.PUT(PATH, {
          params: { path: { name: project, template: values.name } },
          headers: ifMatch(over?.tag),
          body: bodyOf(values, selectable),
        }),
      ),
    saved: ({ name }) => done(stored ? formTexts.saved(name) : formTexts.created(name)),
  });
  const all = useQuery(environments);
  const name = stored?.name ?? "";
  const remove = () =>
    ask(client.DELETE(PATH, { params: { path: { name: project, template: name } } }));
  return (
    <FormSheet
      title={stored ? name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
      locked={reason}
      extra={
        stored && !reason ? (
          <DeleteButton name={name} remove={remove} done={() => done()}>
            <p>{t.delete}</p>
          </DeleteButton>
        ) : null
      }
    >
      {stored ? null : <NameField form={form} taken={taken} />}
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
      <SelectField
        form={form}
        name="environment"
        label={t.environment}
        placeholder={t.noEnvironment}
        options={nameOptions(all.data, form.values.environment)}
        source={{ what: formTexts.environmentsUnread, of: all }}
      />
      <TextField
        form={form}
        name="deployment_name"
        label={t.deploymentName}
        hint={t.deploymentNameHint}
        optional
        maxLength={40}
      />
      <VersionFields form={form} services={selectable} />
      <CheckField form={form} name="wait" label={t.wait} hint={t.waitHint} />
      <TextField
        form={form}
        name="priority"
        type="number"
        label={t.priority}
        hint={t.priorityHint}
        optional
      />
    </FormSheet>
  );
}

/** Refetches the list, shows a toast if there is a message, and closes. */
function useDone(project: string, close: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  const leave = useWhileShown(close);
  return (result?: string) => {
    void cache.invalidateQueries({ queryKey: templates(project).queryKey });
    if (result) say("done", result);
    leave();
  };
}
