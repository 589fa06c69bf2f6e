import { useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { users } from "@/api/queries/people";
import type { Opened } from "@/forms/conflict";
import { DeleteButton } from "@/forms/DeleteButton";
import { ifMatch } from "@/forms/etag";
import { CheckField, TextField, useFieldLabel } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { emptyToUndefined, onlyProblems } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { CheckList } from "./CheckList";
import { GrantFields } from "./GrantFields";
import { grantLine, grantOf } from "./grants";

const t = peopleTexts.teams;
type Team = Schemas["Team"];

type Props = { opened?: Opened<Team>; taken: string[]; close: () => void };

const start = (stored?: Team) => ({
  name: stored?.name ?? "",
  description: stored?.description ?? "",
  members: stored?.members ?? [],
  grants: (stored?.grants ?? []).map(grantLine).sort(),
  second_factor: stored?.second_factor ?? false,
  verdicts: stored?.verdicts ?? false,
});

/** A team's name, description and members, and what it may: its row of the grid. */
export function TeamSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useReasonNotAdmin();
  const people = useQuery({ ...users, enabled: !reason });
  const saved = useSaved(["teams", "users"], close);
  const form = useForm(start(stored), {
    opened,
    valuesOf: start,
    check: (values) => onlyProblems({ name: stored ? undefined : nameProblem(values.name, taken) }),
    save: (values, over) =>
      ask(
        client.PUT("/api/v1/teams/{name}", {
          params: { path: { name: values.name } },
          headers: ifMatch(over?.tag),
          body: {
            description: emptyToUndefined(values.description),
            members: values.members,
            grants: values.grants.map(grantOf),
            second_factor: values.second_factor,
            verdicts: values.verdicts,
          },
        }),
      ),
    saved: (answer, values) => saved(values.name, answer),
  });
  useFieldLabel(form, "members", t.members);
  useFieldLabel(form, "grants", peopleTexts.access.grants);
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      locked={reason}
      extra={stored && !reason ? <Delete name={stored.name} close={close} /> : null}
    >
      {stored ? null : <NameField form={form} taken={taken} />}
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
      <CheckField form={form} name="second_factor" label={t.factor} hint={t.factorHint} />
      <CheckField form={form} name="verdicts" label={t.verdicts} hint={t.verdictsHint} />
      <CheckList
        label={t.members}
        all={people.data?.map((one) => one.name) ?? form.values.members}
        source={{ what: peopleTexts.users.unread, of: people }}
        error={form.errors.members}
        chosen={form.values.members}
        set={(members) => form.set({ members })}
      />
      <GrantFields
        lines={form.values.grants}
        set={(grants) => form.set({ grants })}
        error={form.errors.grants}
        locked={reason !== undefined}
      />
    </FormSheet>
  );
}

function Delete({ name, close }: { name: string; close: () => void }) {
  const refresh = useRefresh(["teams", "users"]);
  const remove = () => ask(client.DELETE("/api/v1/teams/{name}", { params: { path: { name } } }));
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
