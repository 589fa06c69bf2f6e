import { useMutation } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { StatusMark } from "@/components/Status";
import { TestStored } from "@/forms/TestStored";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { Configured, Values } from "./Configured";

const t = settingsTexts.mail;

/** The server that mails are sent by. */
export function MailSettings() {
  return (
    <Configured texts={t} of={(settings) => settings.mail}>
      {(mail) => <Server mail={mail} />}
    </Configured>
  );
}

function Server({ mail }: { mail: Schemas["MailServer"] }) {
  const test = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/settings/mail/test")),
  });
  return (
    <>
      <Values
        all={[
          [t.server, mail.server],
          [t.from, mail.from],
          [t.username, mail.username ?? t.noUsername],
        ]}
      />
      <TestStored test={test} texts={t} dirty={false} unasked={t.untested}>
        {test.data ? (
          <StatusMark state={test.data.ok ? "done" : "failed"}>
            {test.data.ok ? t.ok(test.data.to ?? "") : `${t.failed} ${test.data.problem}`}
          </StatusMark>
        ) : null}
      </TestStored>
    </>
  );
}
