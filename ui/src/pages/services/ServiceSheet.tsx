import { ask, client, type Schemas } from "@/api/client";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch, type Tagged } from "@/forms/etag";
import { SelectField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { emptyToUndefined, onlyProblems } from "@/forms/formValues";
import { NameField, nameProblem, RegistryField } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { serviceTexts as t } from "@/pages/catalogTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { Matches } from "./Matches";

type Service = Schemas["Service"];
type Props = { opened?: Opened<Service>; taken: string[]; close: () => void };

const start = (stored?: Service) => ({
  name: stored?.name ?? "",
  registry: stored?.registry ?? "",
  image: stored?.image ?? "",
  tag_mode: stored?.tag_mode ?? "selectable",
  tag: stored?.tag ?? "",
  pattern: stored?.pattern ?? "",
  description: stored?.description ?? "",
});
type Values = ReturnType<typeof start>;

// How new steps begin is changed with documents; what is stored stays.
const save = (values: Values, step: Service["step"], over?: Tagged<Service>) =>
  ask(
    client.PUT("/api/v1/services/{name}", {
      params: { path: { name: values.name } },
      headers: ifMatch(over?.tag),
      body: {
        registry: values.registry,
        image: values.image.trim(),
        tag_mode: values.tag_mode,
        tag: emptyToUndefined(values.tag),
        pattern: values.tag_mode === "selectable" ? emptyToUndefined(values.pattern) : undefined,
        description: emptyToUndefined(values.description),
        step,
      },
    }),
  );

const modes = [
  { value: "selectable", label: t.selectable },
  { value: "pinned", label: t.pinned },
];

/** Adds or changes one service; beside the form stands what people would choose from. */
export function ServiceSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useReasonNotAdmin();
  const saved = useSaved(["services", "tags"], close);
  const form = useForm(start(stored), {
    check: (values) =>
      onlyProblems({
        name: stored ? undefined : nameProblem(values.name, taken),
        registry: values.registry ? undefined : formTexts.chooseRegistry,
        image: values.image.trim() ? undefined : t.imageMissing,
        tag: values.tag_mode === "pinned" && !values.tag.trim() ? t.tagMissing : undefined,
      }),
    opened,
    valuesOf: start,
    save: (values, over) => save(values, (over?.value ?? stored)?.step, over),
    saved: (answer, values) => saved(values.name, answer),
  });
  const pinned = form.values.tag_mode === "pinned";
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      submit={stored ? undefined : formTexts.create}
      busy={stored ? undefined : formTexts.creating}
      locked={reason}
      extra={stored && !reason ? <Delete name={stored.name} close={close} /> : null}
      side={reason ? undefined : <Matches {...form.values} />}
    >
      {stored ? null : <NameField form={form} taken={taken} />}
      <RegistryField form={form} />
      <TextField
        form={form}
        name="image"
        label={t.image}
        mono
        hint={t.imageHint}
        placeholder="shop/api"
      />
      <SelectField form={form} name="tag_mode" label={t.modeLabel} options={modes} />
      {pinned ? null : (
        <TextField
          form={form}
          name="pattern"
          label={t.pattern}
          mono
          optional
          hint={t.patternHint}
          placeholder="feat/*"
        />
      )}
      <TextField
        form={form}
        name="tag"
        label={pinned ? t.tag : t.tagDefault}
        mono
        optional={!pinned}
        hint={pinned ? undefined : t.tagDefaultHint}
      />
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
    </FormSheet>
  );
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["services"]);
  const remove = () =>
    ask(client.DELETE("/api/v1/services/{name}", { params: { path: { name } } }));
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
