import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { sessions } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { formatAgo } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { useRefresh } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";
import { deviceOf } from "./device";

const t = peopleTexts.account;
type Session = Schemas["Session"];

const end = (id: string) =>
  ask(client.DELETE("/api/v1/sessions/{id}", { params: { path: { id } } }));

/** Every browser the person is signed in with; each can be ended. */
export function Sessions() {
  const query = useQuery(sessions);
  const refresh = useRefresh(["sessions"]);
  const [asked, setAsked] = useState<Session[]>();
  const others = query.data?.filter((one) => !one.current) ?? [];
  return (
    <section aria-label={t.sessions}>
      <h2>{t.sessions}</h2>
      {query.isError ? (
        <ErrorState
          what={t.sessionsUnread}
          error={query.error}
          retry={() => void query.refetch()}
          stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
        />
      ) : null}
      {query.isPending ? <Skeletons count={2} height={36} /> : null}
      <ul>
        {query.data?.map((one) => (
          <Row key={one.id} one={one} end={() => setAsked([one])} />
        ))}
      </ul>
      {others.length > 1 ? (
        <Button act={t.endOthers} onClick={() => setAsked(others)}>
          {t.endOthers}
        </Button>
      ) : null}
      {asked ? (
        <ConfirmDelete
          name={asked.length > 1 ? t.endOthers : short(asked[0])}
          title={t.endTitle}
          label={t.end}
          remove={() => Promise.all(asked.map((one) => end(one.id)))}
          done={refresh}
          close={() => setAsked(undefined)}
        >
          <p>{t.endBody}</p>
        </ConfirmDelete>
      ) : null}
    </section>
  );
}

const short = (one?: Session) => deviceOf(one?.device ?? "") || t.unknownDevice;

function Row({ one, end }: { one: Session; end: () => void }) {
  return (
    <li className="row s py-1">
      <span className="grow">
        <span title={one.device}>{short(one)}</span>{" "}
        <span className="t2">
          {t.from(one.from)} · {t.lastUse} <Time at={one.last_used_at} />
        </span>
      </span>
      {one.current ? (
        <span className="chip">{t.here}</span>
      ) : (
        <Button small onClick={end}>
          {t.end}
        </Button>
      )}
    </li>
  );
}
