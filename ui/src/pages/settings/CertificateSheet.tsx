import { ask, client } from "@/api/client";
import { TextArea } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { formTexts } from "@/forms/formTexts";
import { onlyProblems } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useSaved } from "@/forms/useSaved";
import { settingsTexts } from "@/pages/settings/settingsTexts";

const t = settingsTexts.certificates;

type Props = {
  taken: string[];
  /** The certificate whose place the new one takes. */
  replaces?: string;
  close: () => void;
};

/** Takes a chain and its key; the server says which hosts they are for. */
export function CertificateSheet({ taken, replaces, close }: Props) {
  const saved = useSaved(["certificates"], close);
  const form = useForm(
    { name: replaces ?? "", chain: "", key: "" },
    {
      check: (values) =>
        onlyProblems({
          name: replaces ? undefined : nameProblem(values.name, taken),
          chain: values.chain.includes("BEGIN CERTIFICATE") ? undefined : t.chainMissing,
          key: values.key.includes("PRIVATE KEY") ? undefined : t.keyMissing,
        }),
      save: (values) =>
        ask(
          client.PUT("/api/v1/certificates/{name}", {
            params: { path: { name: values.name } },
            body: { chain: values.chain, key: values.key },
          }),
        ),
      saved: (made) => saved(made.name, { changed: true, created: !replaces }),
    },
  );
  return (
    <FormSheet
      title={replaces ? t.replaceTitle(replaces) : t.addTitle}
      named={replaces}
      form={form}
      onClose={close}
      submit={replaces ? t.replace : formTexts.create}
      busy={replaces ? t.replacing : formTexts.creating}
    >
      {replaces ? <p className="t2">{t.replaceWhat}</p> : <NameField form={form} taken={taken} />}
      <TextArea form={form} name="chain" label={t.chain} hint={t.chainHint} mono rows={9} />
      <TextArea form={form} name="key" label={t.key} hint={t.keyHint} mono rows={6} />
    </FormSheet>
  );
}
