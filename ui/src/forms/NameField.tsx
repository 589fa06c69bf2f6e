import { useQuery } from "@tanstack/react-query";
import { registries } from "@/api/queries/admin";
import { Glyph } from "@/components/Glyph";
import { isName } from "@/components/names";
import { formTexts as t } from "@/forms/formTexts";
import { SelectField, TextField } from "./Fields";
import type { Form } from "./useForm";

// biome-ignore lint/suspicious/noExplicitAny: a field does not care what else its form holds.
type AnyForm = Form<any>;

/** What is wrong with a new name, in one sentence; undefined if it is valid. */
export function nameProblem(name: string, taken: string[] = []): string | undefined {
  if (name === "") return t.nameMissing;
  if (!isName(name)) return t.nameWrong;
  return taken.includes(name) ? t.nameTaken(name) : undefined;
}

/** The name of a new object: checks its syntax, and whether it is taken, while typing. */
export function NameField({
  form,
  name = "name",
  taken,
  label = t.nameLabel,
  hint = t.nameHint,
}: {
  form: AnyForm;
  name?: string;
  taken?: string[];
  label?: string;
  hint?: string;
}) {
  const value = String(form.values[name] ?? "");
  const wrong = value === "" ? undefined : nameProblem(value, taken);
  const shown =
    wrong && !form.errors[name] ? { ...form, errors: { ...form.errors, [name]: wrong } } : form;
  const free = value !== "" && !wrong && taken && !form.errors[name];
  const after = free ? (
    <span className="st s" data-st="ready">
      <Glyph state="ready" size="sm" />
      {t.nameFree}
    </span>
  ) : null;
  return (
    <TextField
      form={shown}
      name={name}
      label={label}
      hint={hint}
      mono
      maxLength={40}
      after={after}
    />
  );
}

/** Which registry an image comes from. */
export function RegistryField({ form, name = "registry" }: { form: AnyForm; name?: string }) {
  const query = useQuery(registries);
  const all = query.data ?? [];
  const options = all.map((one) => ({ value: one.name, label: `${one.name} (${one.host})` }));
  return (
    <SelectField
      form={form}
      name={name}
      label={t.registry}
      hint={query.isSuccess && all.length === 0 ? t.noRegistry : t.registryHint}
      placeholder={t.chooseRegistry}
      options={options}
      source={{ what: t.registriesUnread, of: query }}
    />
  );
}
