import { useSuspenseQuery } from "@tanstack/react-query";
import { me } from "@/api/queries/common";
import { Top, useTitle } from "@/components/Shell";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";
import { Tokens } from "../people/Tokens";
import { Explain } from "./Explain";
import { Notifications } from "./Notifications";
import { Password } from "./Password";
import { SecondFactors } from "./SecondFactors";
import { Sessions } from "./Sessions";

const t = peopleTexts.account;

/** What belongs to the person: password, sessions, tokens, and why they may what they may. */
export function Account() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <div className="body">
        <div className="sheetpage col gap-6">
          <p>
            <b>{person.display_name || person.name}</b>{" "}
            <span className="t2">
              {[person.name, texts.roles[person.role], ...person.teams].join(" · ")}
            </span>
          </p>
          <section aria-label={t.password}>
            <h2>{t.password}</h2>
            {person.password ? <Password /> : <p className="t2">{t.noPassword}</p>}
          </section>
          {person.password ? <SecondFactors /> : null}
          <Sessions />
          <section aria-label={t.tokens}>
            <h2>{t.tokens}</h2>
            <p className="hint pb-2">{t.tokensHint}</p>
            <Tokens user="" make />
          </section>
          <Notifications />
          <Explain />
        </div>
      </div>
    </>
  );
}
