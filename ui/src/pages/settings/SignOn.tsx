import { useMutation } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { StatusMark } from "@/components/Status";
import { TestStored } from "@/forms/TestStored";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { Configured, Values } from "./Configured";

const t = settingsTexts.signOn;

/** Through which provider people sign in, and which groups are which teams. */
export function SignOn() {
  return (
    <Configured texts={t} of={(settings) => settings.sign_on}>
      {(on) => <Provider on={on} />}
    </Configured>
  );
}

function Provider({ on }: { on: Schemas["SignOnSettings"] }) {
  const test = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/settings/sign-on/test")),
  });
  return (
    <>
      <Values
        all={[
          [t.button, on.name],
          [t.issuer, on.issuer],
          [t.client, on.client],
          [t.redirect, on.redirect],
          [t.scopes, on.scopes.join(" ")],
          [t.claim, on.claim],
          [t.admins, on.admins ?? t.noAdmins],
        ]}
      />
      <Teams all={on.teams} />
      <p className="t2">{t.passwords}</p>
      <TestStored test={test} texts={t} dirty={false} unasked={t.untested}>
        {test.data ? (
          <StatusMark state={test.data.ok ? "done" : "failed"}>
            {test.data.ok ? t.ok : `${t.failed} ${test.data.problem}`}
          </StatusMark>
        ) : null}
      </TestStored>
    </>
  );
}

function Teams({ all }: { all: Schemas["GroupTeam"][] }) {
  return (
    <section className="col gap-2">
      <h3>{t.teams}</h3>
      {all.length === 0 ? (
        <p className="t2">{t.noTeams}</p>
      ) : (
        <div className="tblf framed">
          <table className="tbl">
            <thead>
              <tr>
                <th>{t.group}</th>
                <th>{t.team}</th>
              </tr>
            </thead>
            <tbody>
              {all.map(({ group, team }) => (
                <tr key={group}>
                  <td className="mono">{group}</td>
                  <td>{team}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
