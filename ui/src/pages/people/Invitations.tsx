import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { invitations } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { ErrorState } from "@/components/States";
import { formatAgo, formatExact } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { useRefresh } from "@/forms/useSaved";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { texts } from "@/texts";

const t = peopleTexts.invitation;

/** Who was asked in and did not come yet. */
export function Invitations() {
  const query = useQuery(invitations);
  return (
    <>
      {query.isError ? (
        <ErrorState
          what={t.unread}
          error={query.error}
          retry={() => void query.refetch()}
          stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
        />
      ) : null}
      {query.data?.length ? <Open all={query.data} /> : null}
    </>
  );
}

function Open({ all }: { all: Schemas["Invitation"][] }) {
  const [asked, setAsked] = useState<Schemas["Invitation"]>();
  const refresh = useRefresh(["invitations"]);
  return (
    <section className="col gap-1 px-4 py-2" aria-label={t.open(all.length)}>
      <b className="s">{t.open(all.length)}</b>
      {all.map((one) => (
        <div className="row s" key={one.id}>
          <span className="grow">
            {one.address} <span className="t2">{one.teams.join(", ")}</span>{" "}
            <span className="t3">
              {t.by(one.created_by)}, {t.ends} {formatExact(one.expires_at)}
            </span>
          </span>
          <Button small onClick={() => setAsked(one)}>
            {t.takeBack}
          </Button>
        </div>
      ))}
      {asked ? (
        <ConfirmDelete
          name={asked.address}
          label={t.takeBack}
          remove={() =>
            ask(client.DELETE("/api/v1/invitations/{id}", { params: { path: { id: asked.id } } }))
          }
          done={refresh}
          close={() => setAsked(undefined)}
        >
          <p>{t.takeBackBody}</p>
        </ConfirmDelete>
      ) : null}
    </section>
  );
}
