import { useQuery } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { users } from "@/api/queries/people";
import { peopleTexts } from "@/peopleTexts";
import { DeleteAct } from "../admin/DeleteAct";
import { TextField } from "../admin/Fields";
import { FormSheet } from "../admin/FormSheet";
import { useMayAdmin } from "../admin/may";
import { NameField, nameProblem } from "../admin/NewName";
import { onlyOver, type Tagged } from "../admin/tagged";
import { useForm } from "../admin/useForm";
import { useRefresh, useSaved } from "../admin/useSaved";
import { orNothing, wrongs } from "../admin/values";
import { Picks } from "./Picks";

const t = peopleTexts.teams;
type Team = Schemas["Team"];

type Props = { stored?: Tagged<Team>; taken: string[]; reload?: () => void; close: () => void };

/** A team's name, description and members. What it may is set in the grid. */
export function TeamSheet({ stored: read, taken, reload, close }: Props) {
  const stored = read?.value;
  const reason = useMayAdmin();
  const people = useQuery({ ...users, enabled: !reason }).data?.map((one) => one.name);
  const saved = useSaved(["teams", "users"], close);
  const form = useForm(
    {
      name: stored?.name ?? "",
      description: stored?.description ?? "",
      members: stored?.members ?? [],
    },
    {
      check: (values) => wrongs({ name: stored ? undefined : nameProblem(values.name, taken) }),
      save: (values) =>
        ask(
          client.PUT("/api/v1/teams/{name}", {
            params: { path: { name: values.name } },
            headers: onlyOver(read?.tag),
            body: {
              description: orNothing(values.description),
              members: values.members,
              grants: stored?.grants ?? [],
            },
          }),
        ),
      saved: (answer, values) => saved(values.name, answer),
    },
  );
  return (
    <FormSheet
      title={stored ? stored.name : t.addTitle}
      form={form}
      onClose={close}
      reload={reload}
      reason={reason}
      extra={stored && !reason ? <Delete name={stored.name} close={close} /> : null}
    >
      {stored ? null : <NameField form={form} taken={taken} />}
      <TextField form={form} name="description" label={t.description} optional maxLength={500} />
      <Picks
        label={t.members}
        all={people ?? form.values.members}
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
