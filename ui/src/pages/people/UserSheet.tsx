import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { me } from "@/api/queries/common";
import { viewAs } from "@/api/viewAs";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError } from "@/components/States";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch } from "@/forms/etag";
import { CheckField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { emptyToUndefined, onlyProblems } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { OneTimeSecret } from "./OneTimeSecret";
import { Tokens } from "./Tokens";

const t = peopleTexts.users;
type User = Schemas["User"];

type UserProps = { opened: Opened<User>; close: () => void };

const start = (stored: User) => ({
  display_name: stored.display_name,
  address: stored.address ?? "",
  admin: stored.role === "admin",
  active: stored.active,
});

/** One user: what an admin says about them, and what an admin does for them. */
export function UserSheet({ opened, close }: UserProps) {
  const stored = opened.value;
  const saved = useSaved(["users", "teams"], close);
  const [tokenDirty, setTokenDirty] = useState(false);
  const form = useForm(start(stored), {
    opened,
    valuesOf: start,
    save: (values, over) =>
      ask(
        client.PUT("/api/v1/users/{name}", {
          params: { path: { name: stored.name } },
          headers: ifMatch(over?.tag),
          body: {
            display_name: values.display_name,
            address: emptyToUndefined(values.address),
            role: values.admin ? "admin" : "user",
            active: values.active,
          },
        }),
      ),
    saved: (answer) => saved(stored.name, answer),
  });
  return (
    <FormSheet
      title={stored.name}
      named={stored.name}
      form={form}
      onClose={close}
      reason={tokenDirty ? t.tokenFirst : undefined}
      alsoDirty={tokenDirty}
      extra={<Delete name={stored.name} close={close} />}
    >
      <TextField form={form} name="display_name" label={t.displayName} optional />
      {stored.kind === "person" ? (
        <TextField form={form} name="address" label={t.address} hint={t.addressHint} optional />
      ) : null}
      <CheckField form={form} name="admin" label={t.admin} hint={t.adminHint} />
      <CheckField form={form} name="active" label={t.active} hint={t.activeHint} />
      {stored.kind === "person" ? <Reset name={stored.name} /> : null}
      {stored.kind === "person" ? <Factors name={stored.name} /> : null}
      <View stored={stored} />
      <Tokens user={stored.name} make={stored.kind === "service"} dirty={setTokenDirty} />
    </FormSheet>
  );
}

/** A link that sets the password once. */
function Reset({ name }: { name: string }) {
  const make = useMutation({
    mutationFn: () =>
      ask(client.POST("/api/v1/users/{name}/reset", { params: { path: { name } } })),
  });
  if (make.data)
    return (
      <OneTimeSecret text={make.data.url} what={t.reset}>
        {t.resetHint}
      </OneTimeSecret>
    );
  return (
    <div className="field">
      <span>
        <Button act={t.reset} busy={make.isPending && t.resetting} onClick={() => make.mutate()}>
          {t.reset}
        </Button>
      </span>
      {make.error ? (
        <Refusal>{describeError(make.error).message}</Refusal>
      ) : (
        <div className="hint">{t.resetHint}</div>
      )}
    </div>
  );
}

/** Helps somebody who has lost theirs. */
function Factors({ name }: { name: string }) {
  const [asked, setAsked] = useState(false);
  const remove = () =>
    ask(client.DELETE("/api/v1/users/{name}/factors", { params: { path: { name } } }));
  return (
    <div className="field">
      <span>
        <Button act={t.factors} onClick={() => setAsked(true)}>
          {t.factors}
        </Button>
      </span>
      <div className="hint">{t.factorsHint}</div>
      {asked ? (
        <ConfirmDelete
          name={t.factorsOf(name)}
          title={t.factorsTitle(name)}
          label={t.factors}
          remove={remove}
          done={() => undefined}
          close={() => setAsked(false)}
        >
          <p>{t.factorsBody}</p>
        </ConfirmDelete>
      ) : null}
    </div>
  );
}

/** Viewing as an admin is not possible. */
function View({ stored }: { stored: User }) {
  const { data: person } = useSuspenseQuery(me);
  if (stored.role === "admin" || !stored.active || stored.name === person.name) return null;
  return (
    <div className="field">
      <span>
        <Button act={t.viewAs} onClick={() => viewAs(stored.name)}>
          {t.viewAs}
        </Button>
      </span>
      <div className="hint">{t.viewAsHint}</div>
    </div>
  );
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["users", "teams"]);
  const remove = () => ask(client.DELETE("/api/v1/users/{name}", { params: { path: { name } } }));
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

/** A user for a program. */
export function ServiceSheet({ taken, close }: { taken: string[]; close: () => void }) {
  const saved = useSaved(["users"], close);
  const form = useForm(
    { name: "", display_name: "" },
    {
      check: (values) => onlyProblems({ name: nameProblem(values.name, taken) }),
      save: (values) =>
        ask(
          client.PUT("/api/v1/users/{name}", {
            params: { path: { name: values.name } },
            headers: ifMatch(undefined),
            body: {
              role: "user",
              kind: "service",
              active: true,
              display_name: values.display_name,
            },
          }),
        ),
      saved: (answer, values) => saved(values.name, answer),
    },
  );
  return (
    <FormSheet title={t.serviceTitle} form={form} onClose={close}>
      <p className="t2">{t.serviceHint}</p>
      <NameField form={form} taken={taken} />
      <TextField form={form} name="display_name" label={t.displayName} optional />
    </FormSheet>
  );
}
