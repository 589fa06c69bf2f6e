import { lazy, Suspense } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch, type Tagged } from "@/forms/etag";
import { CheckField, TextArea, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { NameField, RegistryField } from "@/forms/NameField";
import { type Form, useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { useSheet } from "@/lists/useOpenSheet";
import { pluginTexts as t } from "@/pages/catalogTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { FormPreview } from "./FormPreview";
import { readSchema } from "./schema";
import { componentOf, type PluginValues, pluginProblems, pluginValues } from "./values";

const TestRun = lazy(() => loadChunk(() => import("./TestRun")));
type Plugin = Schemas["Plugin"];
type Props = { opened?: Opened<Plugin>; taken: string[]; close: () => void };

const save = (values: PluginValues, over?: Tagged<Plugin>) =>
  ask(
    client.PUT("/api/v1/plugins/{name}", {
      params: { path: { name: values.name } },
      headers: ifMatch(over?.tag),
      body: {
        registry: values.registry,
        image: values.image.trim(),
        tag: values.tag.trim(),
        component: componentOf(values, over?.value.component),
      },
    }),
  );

/** Adds or changes a plugin, with a preview of the form made from its schema. */
export function PluginSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useReasonNotAdmin();
  const saved = useSaved(["plugins"], close);
  const form = useForm(pluginValues(stored), {
    check: (values) => pluginProblems(values, stored ? undefined : taken),
    opened,
    valuesOf: pluginValues,
    save,
    saved: (answer, values) => saved(values.name, answer),
  });
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
      locked={reason}
      extra={
        stored && !reason ? (
          <>
            <Delete name={stored.name} close={close} />
            <Trial plugin={stored} dirty={form.dirty} />
          </>
        ) : null
      }
      side={<FormPreview text={form.values.parameters} digest={stored?.digest} />}
    >
      {stored ? null : <NameField form={form} taken={taken} />}
      <RegistryField form={form} />
      <TextField form={form} name="image" label={t.image} mono placeholder="plugins/sql-script" />
      <TextField form={form} name="tag" label={t.tag} mono hint={t.tagHint} />
      <TextField form={form} name="description" label={t.description} optional />
      <SchemaField form={form} />
      <TextArea form={form} name="outputs" label={t.outputs} mono rows={5} optional />
      <TextArea
        form={form}
        name="secrets"
        label={t.secretsLabel}
        hint={t.secretsHint}
        mono
        rows={2}
        optional
      />
      <Runs form={form} />
    </FormSheet>
  );
}

/** Said while typing, not only when saving: half of a schema is easy to lose. */
function SchemaField({ form }: { form: Form<PluginValues> }) {
  const wrong = readSchema(form.values.parameters).wrong;
  const shown = wrong ? { ...form, errors: { ...form.errors, parameters: wrong } } : form;
  return (
    <TextArea
      form={shown}
      name="parameters"
      label={t.parameters}
      hint={t.parametersHint}
      mono
      rows={12}
      optional
    />
  );
}

function Runs({ form }: { form: Form<PluginValues> }) {
  return (
    <>
      <fieldset className="col gap-2">
        <legend className="lbl">{t.actions}</legend>
        {(["create", "delete", "check"] as const).map((action) => (
          <CheckField key={action} form={form} name={action} label={t.actionWords[action] ?? ""} />
        ))}
      </fieldset>
      <div className="three">
        <TextField form={form} name="timeout_seconds" type="number" label={t.timeout} />
        <TextField form={form} name="cpu" label={t.cpu} />
        <TextField form={form} name="memory_mib" type="number" label={t.memory} />
      </div>
      <CheckField form={form} name="network" label={t.network} hint={t.networkHint} />
      <CheckField form={form} name="idempotent" label={t.idempotent} />
    </>
  );
}

/** What is stored can be run once; the sheet for it lies above this one, and is in the address too. */
function Trial({ plugin, dirty }: { plugin: Plugin; dirty: boolean }) {
  const { shown, show, hide } = useSheet("trial");
  return (
    <>
      <Button act={t.trial} reason={dirty ? t.trialFirst : undefined} onClick={show}>
        {t.trial}
      </Button>
      <Suspense fallback={null}>{shown ? <TestRun plugin={plugin} close={hide} /> : null}</Suspense>
    </>
  );
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["plugins"]);
  const remove = () => ask(client.DELETE("/api/v1/plugins/{name}", { params: { path: { name } } }));
  const done = () => {
    refresh();
    close();
  };
  return (
    <DeleteButton name={name} remove={remove} done={done}>
      <p>{t.delete}</p>
    </DeleteButton>
  );
}
