import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouter } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { ask, client } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Mark } from "@/components/Glyph";
import { useTitle } from "@/components/Shell";
import { TextField } from "@/forms/Fields";
import { onlyProblems } from "@/forms/formValues";
import { nameProblem } from "@/forms/NameField";
import { type Form, useForm, type Values } from "@/forms/useForm";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";

const account = peopleTexts.account;

/**
 * The URL fragment. It is removed from the address bar at once, and browsers never send it to a
 * server.
 */
function useLink(): string {
  const [link] = useState(() => {
    const found = window.location.hash.slice(1);
    if (found) window.history.replaceState(window.history.state, "", window.location.pathname);
    return found;
  });
  return link;
}

type PageProps<V extends Values> = {
  title: string;
  link: string;
  form: Form<V>;
  submit: string;
  busy: string;
  children: ReactNode;
};

function Page<V extends Values>({ title, link, form, submit, busy, children }: PageProps<V>) {
  useTitle(title);
  const send = (event: FormEvent) => {
    event.preventDefault();
    form.submit();
  };
  return (
    <main className="si">
      <form onSubmit={send} noValidate>
        <div className="row bm">
          <Mark />
          <span>{texts.product}</span>
        </div>
        <h1>{title}</h1>
        {link ? children : <Refusal>{peopleTexts.join.noLink}</Refusal>}
        {form.refused ? <Refusal>{form.refused.message}</Refusal> : null}
        {link ? (
          <Button look="ink" className="big" type="submit" busy={form.busy && busy}>
            {submit}
          </Button>
        ) : null}
      </form>
    </main>
  );
}

const long = (password: string) => (password.length < 12 ? account.short : undefined);

/** Where an invitation leads. */
export function Invitation() {
  const t = peopleTexts.join;
  const link = useLink();
  const router = useRouter();
  const cache = useQueryClient();
  const form = useForm(
    { address: "", name: "", display_name: "", password: "" },
    {
      check: (values) =>
        onlyProblems({
          address: values.address.trim() ? undefined : peopleTexts.invitation.addressMissing,
          name: nameProblem(values.name),
          password: long(values.password),
        }),
      save: (values) =>
        ask(client.POST("/api/v1/invitations/accept", { body: { link, ...values } })),
      saved: (person) => {
        cache.clear();
        cache.setQueryData(me.queryKey, person);
        router.history.push("/deployments");
      },
    },
  );
  return (
    <Page title={t.title} link={link} form={form} submit={t.submit} busy={t.busy}>
      <TextField form={form} name="address" label={t.address} autoComplete="email" />
      <TextField
        form={form}
        name="name"
        label={t.name}
        hint={t.nameHint}
        mono
        maxLength={40}
        autoComplete="username"
      />
      <TextField form={form} name="display_name" label={t.display} optional autoComplete="name" />
      <TextField
        form={form}
        name="password"
        type="password"
        label={t.password}
        hint={account.short}
      />
    </Page>
  );
}

/** Where a reset link leads. */
export function Reset() {
  const t = peopleTexts.reset;
  const link = useLink();
  const [done, setDone] = useState(false);
  const form = useForm(
    { password: "", again: "" },
    {
      check: (values) =>
        onlyProblems({
          password: long(values.password),
          again: values.again === values.password ? undefined : account.differ,
        }),
      save: ({ password }) =>
        ask(client.POST("/api/v1/password-resets", { body: { link, password } })),
      saved: () => setDone(true),
    },
  );
  if (done)
    return (
      <main className="si">
        <div className="col gap-3" role="status">
          <h1>{t.done}</h1>
          <Link to="/sign-in" search={{}} className="btn pri big">
            {t.signIn}
          </Link>
        </div>
      </main>
    );
  return (
    <Page title={t.title} link={link} form={form} submit={t.submit} busy={t.busy}>
      <TextField form={form} name="password" type="password" label={account.next} />
      <TextField form={form} name="again" type="password" label={account.again} />
    </Page>
  );
}
