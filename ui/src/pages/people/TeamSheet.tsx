import { useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { users } from "@/api/queries/people";
import type { Opened } from "@/forms/conflict";
import { DeleteAct } from "@/forms/DeleteButton";
import { onlyOver } from "@/forms/etag";
import { TextField, useKnown } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { orNothing, wrongs } from "@/forms/formValues";
import { NameField, nameProblem } from "@/forms/NameField";
import { useForm } from "@/forms/useForm";
import { useRefresh, useSaved } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { useMayAdmin } from "../shell/usePermissionReason";
import { Picks } from "./CheckList";

const t = peopleTexts.teams;
type Team = Schemas["Team"];

type Props = { opened?: Opened<Team>; taken: string[]; close: () => void };

const start = (stored?: Team) => ({
  name: stored?.name ?? "",
  description: stored?.description ?? "",
  members: stored?.members ?? [],
});

/** A team's name, description and members. What it may is set in the grid. */
export function TeamSheet({ opened, taken, close }: Props) {
  const stored = opened?.value;
  const reason = useMayAdmin();
  const people = useQuery({ ...users, enabled: !reason });
  const saved = useSaved(["teams", "users"], close);
  const form = useForm(start(stored), {
    opened,
    valuesOf: start,
    check: (values) => wrongs({ name: stored ? undefined : nameProblem(values.name, taken) }),
    save: (values, over) =>
      ask(
        client.PUT("/api/v1/teams/{name}", {
          params: { path: { name: values.name } },
          headers: onlyOver(over?.tag),
          body: {
            description: orNothing(values.description),
            members: values.members,
            grants: over?.value.grants ?? [],
          },
        }),
      ),
    saved: (answer, values) => saved(values.name, answer),
  });
  useKnown(form, "members", t.members);
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
      <Picks
        label={t.members}
        all={people.data?.map((one) => one.name) ?? form.values.members}
        source={{ what: peopleTexts.users.unread, of: people }}
        error={form.errors.members}
        chosen={form.values.members}
        set={(members) => form.set({ members })}
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
    <DeleteAct name={name} remove={remove} done={done}>
      <p>{t.delete}</p>
    </DeleteAct>
  );
}
