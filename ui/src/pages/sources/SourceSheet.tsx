import { ask, client, type Schemas } from "@/api/client";
import { CopyButton } from "@/components/Copy";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch } from "@/forms/etag";
import { CheckField, SelectField, TextArea, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { NameField } from "@/forms/NameField";
import { type Form, useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { SourceState } from "./SourceState";
import { sourceTexts as t } from "./sourceTexts";
import { bodyOf, findProblems, initialValues, type Values } from "./values";

type Source = Schemas["DefinitionSource"];
type Props = {
  opened?: Opened<Source>;
  taken: string[];
  made: (made: { name: string; secret: string }) => void;
  close: () => void;
};

const toOptions = (words: Record<string, string>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));
const modes = toOptions(t.modes);
const webhooks = toOptions(t.webhooks);

/** Adds or changes one source; beside the form stands what was found in the repository. */
export function SourceSheet({ opened, taken, made, close }: Props) {
  const saved = useSaved(["sources"], close);
  const stored = opened?.value;
  const form = useForm(initialValues(stored), {
    check: (values) => findProblems(values, stored !== undefined, taken),
    opened,
    valuesOf: initialValues,
    save: (values, over) =>
      ask(
        client.PUT("/api/v1/sources/{name}", {
          params: { path: { name: values.name } },
          headers: ifMatch(over?.tag),
          body: bodyOf(values, stored),
        }),
      ),
    saved: ({ created, changed, secret }, { name }) => {
      saved(name, { changed, created });
      if (secret) made({ name, secret });
    },
  });
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
      extra={stored ? <Delete name={stored.name} close={close} /> : null}
      side={stored ? <SourceState name={stored.name} /> : null}
      sideFirst
    >
      {stored ? null : <NameField form={form} taken={taken} hint={t.nameHint} />}
      <Repository form={form} stored={stored} />
      <Applies form={form} />
      <Events form={form} stored={stored} />
      <CheckField form={form} name="active" label={t.active} hint={t.activeHint} />
    </FormSheet>
  );
}

/** Where the documents are, and how the repository is reached. */
function Repository({ form, stored }: { form: Form<Values>; stored?: Source }) {
  return (
    <>
      <TextField form={form} name="url" label={t.url} mono maxLength={500} hint={t.urlHint} />
      <div className="two">
        <TextField form={form} name="branch" label={t.branch} mono maxLength={200} />
        <TextField
          form={form}
          name="folder"
          label={t.folder}
          mono
          optional
          maxLength={300}
          hint={t.folderHint}
        />
      </div>
      <TextField
        form={form}
        name="token"
        type="password"
        label={t.token}
        optional
        maxLength={4096}
        hint={stored ? `${t.tokenHint} ${t.tokenKept}` : t.tokenHint}
      />
      {stored ? <CheckField form={form} name="forget" label={t.forget} /> : null}
      <TextField
        form={form}
        name="username"
        label={t.username}
        optional
        maxLength={200}
        hint={t.usernameHint}
      />
      <TextArea form={form} name="ca" label={t.ca} mono optional hint={t.caHint} />
    </>
  );
}

/** What becomes of a commit. */
function Applies({ form }: { form: Form<Values> }) {
  return (
    <>
      <SelectField form={form} name="mode" label={t.mode} options={modes} hint={t.modeHint} />
      <TextField form={form} name="period" type="number" label={t.period} />
      <CheckField form={form} name="removes" label={t.removes} hint={t.removesHint} />
      <fieldset className="field">
        <legend className="lbl">{t.kinds}</legend>
        <CheckField form={form} name="people" label={t.people} />
        <CheckField form={form} name="nodes" label={t.nodes} />
      </fieldset>
    </>
  );
}

/** Who tells of pushes. */
function Events({ form, stored }: { form: Form<Values>; stored?: Source }) {
  const { webhook } = form.values;
  return (
    <>
      <SelectField
        form={form}
        name="webhook"
        label={t.webhook}
        options={webhooks}
        hint={t.webhookHint}
      />
      {webhook ? (
        <TextField
          form={form}
          name="secret"
          type="password"
          label={t.secret}
          optional
          maxLength={200}
          hint={stored?.webhook ? t.secretKept : t.secretHint}
        />
      ) : null}
      {webhook && stored ? <HookAddress name={stored.name} /> : null}
    </>
  );
}

/** Where the code host posts its events. */
export function HookAddress({ name }: { name: string }) {
  const url = `${window.location.origin}/hooks/sources/${name}`;
  return (
    <div className="field">
      <span className="lbl">{t.address}</span>
      <div className="codebox">
        <pre>{url}</pre>
        <CopyButton text={url} what={t.address} />
      </div>
      <span className="hint">{t.addressHint}</span>
    </div>
  );
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["sources"]);
  const remove = () => ask(client.DELETE("/api/v1/sources/{name}", { params: { path: { name } } }));
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
