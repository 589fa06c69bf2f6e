import type { Schemas } from "@/api/client";
import { CheckField, TextField } from "@/forms/Fields";
import type { Form } from "@/forms/useForm";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";
import type { Values } from "./values";

/** How the code host is believed, and answered. None of it is ever read back. */
export function CodeHostFields({ form, stored }: { form: Form<Values>; stored?: Schemas["Rule"] }) {
  const moved = stored && form.values.api_url.trim() !== (stored.api_url ?? "");
  return (
    <>
      <TextField
        form={form}
        name="secret"
        type="password"
        label={t.secret}
        optional
        maxLength={200}
        hint={stored ? t.secretKept : t.secretHint}
      />
      {form.values.source === "registry" ? null : (
        <>
          <TextField
            form={form}
            name="api_url"
            label={t.apiUrl}
            mono
            optional
            maxLength={300}
            hint={moved ? t.apiMoved : t.apiUrlHint}
          />
          <TextField
            form={form}
            name="token"
            type="password"
            label={t.token}
            optional
            maxLength={500}
            hint={stored && !moved ? `${t.tokenHint} ${t.tokenKept}` : t.tokenHint}
          />
          {stored ? <CheckField form={form} name="forget" label={t.forget} /> : null}
        </>
      )}
    </>
  );
}
