import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { ask, client } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { useToast } from "@/components/Toast";
import { TextField } from "@/forms/Fields";
import { formTexts } from "@/forms/formTexts";
import { onlyProblems } from "@/forms/formValues";
import { useForm } from "@/forms/useForm";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { HiddenUsername } from "@/pages/sign-in/HiddenUsername";

const t = peopleTexts.account;
const empty = { current: "", password: "", again: "" };

/** The own password. Every other session and all API tokens end with the old one. */
export function Password() {
  const say = useToast();
  const cache = useQueryClient();
  const { data: person } = useSuspenseQuery(me);
  const form = useForm(empty, {
    check: (values) =>
      onlyProblems({
        current: values.current ? undefined : formTexts.required,
        password: values.password.length < 12 ? t.short : undefined,
        again: values.again === values.password ? undefined : t.differ,
      }),
    save: ({ current, password }) =>
      ask(client.PUT("/api/v1/me/password", { body: { current, password } })),
    saved: () => {
      say("done", t.changed);
      form.restart(empty);
      void cache.invalidateQueries({ queryKey: ["sessions"] });
      void cache.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    form.submit();
  };
  return (
    <form className="form" onSubmit={submit} noValidate>
      <p className="t3">{t.ends}</p>
      <HiddenUsername name={person.name} />
      <TextField
        form={form}
        name="current"
        type="password"
        autoComplete="current-password"
        label={t.current}
      />
      <TextField form={form} name="password" type="password" label={t.next} hint={t.short} />
      <TextField form={form} name="again" type="password" label={t.again} />
      {form.refused ? <Refusal>{form.refused.message}</Refusal> : null}
      <span>
        <Button
          act={t.passwordChange}
          type="submit"
          look="ink"
          busy={form.busy && formTexts.saving}
        >
          {t.passwordChange}
        </Button>
      </span>
    </form>
  );
}
