import { ask, client, type Schemas } from "@/api/client";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch } from "@/forms/etag";
import { CheckField, SelectField, TextArea, TextField, useFieldLabel } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { NameField } from "@/forms/NameField";
import { type Form, useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { noticeTexts, webhookTexts as t } from "@/pages/webhooks/noticeTexts";
import { Deliveries } from "./Deliveries";
import { Events, type NoticeEvent } from "./Events";
import { ScopeFields } from "./ScopeFields";
import { TestMessage } from "./TestMessage";
import { bodyOf, findProblems, initialValues, type Values } from "./values";

type Webhook = Schemas["Webhook"];
type Props = {
  opened?: Opened<Webhook>;
  taken: string[];
  made: (made: { name: string; secret: string }) => void;
  close: () => void;
};

const kinds = Object.entries(t.kinds).map(([value, label]) => ({ value, label }));

/** Adds or changes one webhook; what is stored can be tested, and its log read. */
export function WebhookSheet({ opened, taken, made, close }: Props) {
  const saved = useSaved(["webhooks"], close);
  const webhook = opened?.value;
  const form = useForm(initialValues(webhook), {
    check: (values) => findProblems(values, webhook !== undefined, taken),
    opened,
    valuesOf: initialValues,
    save: (values, over) =>
      ask(
        client.PUT("/api/v1/webhooks/{name}", {
          params: { path: { name: values.name } },
          headers: ifMatch(over?.tag),
          body: bodyOf(values),
        }),
      ),
    saved: (answer, values) => {
      saved(values.name, { changed: true, created: answer.created });
      if (answer.secret && values.kind === "json")
        made({ name: values.name, secret: answer.secret });
    },
  });
  return (
    <FormSheet
      title={webhook ? webhook.name : t.addTitle}
      form={form}
      onClose={close}
      submit={webhook ? undefined : formTexts.create}
      busy={webhook ? undefined : formTexts.creating}
      extra={webhook ? <Delete name={webhook.name} close={close} /> : null}
      side={webhook ? <Deliveries name={webhook.name} /> : null}
    >
      {webhook ? null : <NameField form={form} taken={taken} />}
      <Fields form={form} webhook={webhook} />
      {webhook ? <TestMessage name={webhook.name} dirty={form.dirty} /> : null}
    </FormSheet>
  );
}

function Fields({ form, webhook }: { form: Form<Values>; webhook?: Webhook }) {
  const { kind, events } = form.values;
  useFieldLabel(form, "events", noticeTexts.eventsLabel, (value) =>
    (value as NoticeEvent[]).map((one) => noticeTexts.events[one]).join(", "),
  );
  return (
    <>
      <SelectField form={form} name="kind" label={t.kind} options={kinds} />
      <TextField
        form={form}
        name="url"
        label={t.url}
        mono
        maxLength={2000}
        placeholder="https://ci.example.org/hooks/nullops"
        hint={webhook ? t.urlKept(webhook.host) : t.urlHint}
      />
      {kind === "json" ? (
        <TextField
          form={form}
          name="secret"
          type="password"
          label={t.secret}
          optional
          maxLength={200}
          hint={webhook ? t.secretKept : t.secretHint}
        />
      ) : (
        <TextArea form={form} name="template" label={t.template} optional hint={t.templateHint} />
      )}
      <Events
        chosen={events}
        set={(chosen) => form.set({ events: chosen })}
        error={form.errors.events}
      />
      <ScopeFields form={form} />
      <CheckField form={form} name="active" label={t.active} hint={t.activeHint} />
    </>
  );
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["webhooks"]);
  const remove = () =>
    ask(client.DELETE("/api/v1/webhooks/{name}", { params: { path: { name } } }));
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
