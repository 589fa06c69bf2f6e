import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { activeAlerts, allAlerts } from "@/api/queries/alerts";
import { Button } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formatAgo } from "@/components/time";
import { alertTexts as t } from "@/pages/alerts/alertTexts";
import { texts } from "@/texts";
import { AlertItem } from "./AlertItem";

/** What needs attention now, and what did lately. */
export function Alerts() {
  useTitle(t.title);
  const query = useQuery(activeAlerts);
  const [past, setPast] = useState(false);
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <div className="body" aria-busy={query.isPending}>
        {query.isError ? (
          <ErrorState
            what={t.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={6} /> : null}
        {query.data?.length === 0 ? (
          <EmptyState
            title={t.active(0)}
            act={past ? undefined : <Button onClick={() => setPast(true)}>{t.showEnded}</Button>}
          >
            {t.calm}
          </EmptyState>
        ) : null}
        {query.data?.length ? (
          <section className="px-4 py-3" aria-labelledby="active">
            <h2 id="active" className="mb-1">
              {t.active(query.data.length)}
            </h2>
            <List alerts={query.data} />
          </section>
        ) : null}
        {past || query.data?.length !== 0 ? (
          <section className="px-4 py-3">
            {past ? <Ended /> : <Button onClick={() => setPast(true)}>{t.showEnded}</Button>}
          </section>
        ) : null}
      </div>
    </>
  );
}

function List({ alerts }: { alerts: Schemas["Alert"][] }) {
  return (
    <ul className="needs acted">
      {alerts.map((one) => (
        <AlertItem key={one.id} alert={one} />
      ))}
    </ul>
  );
}

function Ended() {
  const query = useQuery(allAlerts);
  const ended = query.data?.filter((one) => one.ended_at);
  return (
    <>
      <h2 className="mb-1">{t.ended}</h2>
      {query.isPending ? <Skeletons count={3} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {ended?.length === 0 ? <p className="t2">{t.noneEnded}</p> : null}
      {ended?.length ? <List alerts={ended} /> : null}
    </>
  );
}
