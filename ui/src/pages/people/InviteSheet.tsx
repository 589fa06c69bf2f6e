import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, idempotencyKey } from "@/api/client";
import { teams } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Sheet } from "@/components/Overlay";
import { CheckField, TextField } from "@/forms/Fields";
import { FormSheet } from "@/forms/FormSheet";
import { onlyProblems } from "@/forms/formValues";
import { useForm } from "@/forms/useForm";
import { useRefresh } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";
import { CheckList } from "./CheckList";
import { OneTimeSecret } from "./OneTimeSecret";

const t = peopleTexts.invitation;

/** Makes a link for one person, and shows it once. */
export function InviteSheet({ close }: { close: () => void }) {
  const all = useQuery(teams);
  const refresh = useRefresh(["invitations"]);
  const [key] = useState(idempotencyKey);
  const [url, setUrl] = useState<string>();
  const form = useForm(
    { address: "", admin: false, teams: [] as string[] },
    {
      check: (values) =>
        onlyProblems({ address: values.address.trim() ? undefined : t.addressMissing }),
      save: (values) =>
        ask(
          client.POST("/api/v1/invitations", {
            params: { header: { "Idempotency-Key": key } },
            body: {
              address: values.address.trim(),
              role: values.admin ? "admin" : "user",
              teams: values.teams,
            },
          }),
        ),
      saved: (made) => {
        refresh();
        setUrl(made.url);
      },
    },
  );
  if (url)
    return (
      <Sheet open narrow title={t.title} onClose={close} foot={<Done close={close} />}>
        <OneTimeSecret text={url} what={t.title}>
          {t.made}
        </OneTimeSecret>
      </Sheet>
    );
  return (
    <FormSheet title={t.title} form={form} onClose={close} submit={t.submit}>
      <TextField form={form} name="address" label={t.address} placeholder="ada@example.org" />
      <CheckField
        form={form}
        name="admin"
        label={peopleTexts.users.admin}
        hint={peopleTexts.users.adminHint}
      />
      <CheckList
        label={t.teams}
        hint={t.teamsHint}
        all={all.data?.map((one) => one.name) ?? []}
        source={{ what: peopleTexts.teams.unread, of: all }}
        error={form.errors.teams}
        chosen={form.values.teams}
        set={(chosen) => form.set({ teams: chosen })}
      />
    </FormSheet>
  );
}

function Done({ close }: { close: () => void }) {
  return (
    <div className="row end">
      <Button look="ink" onClick={close}>
        {texts.close}
      </Button>
    </div>
  );
}
