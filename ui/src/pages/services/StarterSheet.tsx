import { useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { registries } from "@/api/queries/admin";
import { SelectField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { emptyToUndefined, onlyProblems } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useSaved } from "@/forms/useSaved";
import { starterTexts as t } from "./starterTexts";

type Entry = Schemas["StarterEntry"];

const start = () => ({ entry: "", name: "", registry: "", plugin_registry: "" });
type Values = ReturnType<typeof start>;

const add = (values: Values) =>
  ask(
    client.POST("/api/v1/catalogue/{name}", {
      params: { path: { name: values.entry } },
      body: {
        name: emptyToUndefined(values.name),
        registry: emptyToUndefined(values.registry),
        plugin_registry: emptyToUndefined(values.plugin_registry),
      },
    }),
  );

/** Adds one service of the starter catalogue; beside the form stands what it needs. */
export function StarterSheet({ taken, close }: { taken: string[]; close: () => void }) {
  const query = useQuery({
    queryKey: ["catalogue"],
    queryFn: async () => (await ask(client.GET("/api/v1/catalogue"))).items,
  });
  const all = query.data ?? [];
  const known = useQuery(registries);
  const saved = useSaved(["services", "plugins"], close);
  const form = useForm(start(), {
    check: (values) =>
      onlyProblems({
        entry: values.entry ? undefined : t.chooseMissing,
        name: values.entry ? nameProblem(values.name || values.entry, taken) : undefined,
      }),
    save: add,
    saved: (_, values) => saved(values.name || values.entry, { changed: true, created: true }),
  });
  const entry = all.find((one) => one.name === form.values.entry);
  const options = all.map((one) => ({ value: one.name, label: one.description }));
  const from = (none: string) => [
    { value: "", label: none },
    ...(known.data ?? []).map((one) => ({ value: one.name, label: `${one.name} (${one.host})` })),
  ];
  return (
    <FormSheet
      title={t.title}
      form={form}
      onClose={close}
      submit={t.add}
      busy={t.adding}
      side={entry ? <Needs entry={entry} /> : undefined}
    >
      <SelectField
        form={form}
        name="entry"
        label={t.entry}
        hint={t.entryHint}
        placeholder={t.choose}
        options={options}
        source={{ what: t.unread, of: query }}
      />
      <TextField
        form={form}
        name="name"
        label={t.name}
        hint={t.nameHint}
        placeholder={form.values.entry}
        mono
        optional
        maxLength={40}
      />
      <SelectField
        form={form}
        name="registry"
        label={t.mirror}
        hint={t.mirrorHint}
        options={from(t.mirrorNone)}
        source={{ what: formTexts.registriesUnread, of: known }}
      />
      {entry && entry.plugins.length > 0 ? (
        <SelectField
          form={form}
          name="plugin_registry"
          label={t.plugins}
          hint={t.pluginsHint(entry.plugins.join(", "))}
          options={from(t.pluginsNone)}
        />
      ) : null}
    </FormSheet>
  );
}

/** What an entry is and needs. */
function Needs({ entry }: { entry: Entry }) {
  const { resources, gpus } = entry;
  const facts = [
    [t.image, entry.image],
    [t.ports, entry.ports.join(", ")],
    [t.secrets, entry.secrets.join(", ")],
    [t.keeps, entry.volumes.join(", ")],
    [t.limits, t.limitsOf(resources?.cpu, resources?.memory_mib, gpus)],
    [t.with, entry.services.join(", ")],
  ];
  return (
    <section className="col gap-3">
      <dl className="col gap-2">
        {facts.map(([head, text]) => (
          <div key={head}>
            <dt className="t2 s">{head}</dt>
            <dd className="mono">{text || t.none}</dd>
          </div>
        ))}
      </dl>
      <h2>{t.document}</h2>
      <pre className="mono s whitespace-pre-wrap break-words">{entry.document}</pre>
    </section>
  );
}
