import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Schemas } from "@/api/client";
import { webhooks } from "@/api/queries/notices";
import { LoadStored } from "@/forms/LoadStored";
import { OneTimeSheet } from "@/forms/OneTimeSheet";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { noticeTexts, webhookTexts as t } from "@/pages/webhooks/noticeTexts";
import { OneTimeSecret } from "../people/OneTimeSecret";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { WebhookSheet } from "./WebhookSheet";

type Webhook = Schemas["Webhook"];

const scopeText = (one: Webhook) =>
  [one.project, one.environment].filter(Boolean).join(", ") || t.everything;

const columns: Column<Webhook>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        {one.active ? null : <span className="chip">{t.off}</span>}
      </span>
    ),
  },
  { head: t.columns.kind, cell: (one) => t.kinds[one.kind] },
  { head: t.columns.host, cell: (one) => <span className="mono">{one.host}</span> },
  { head: t.columns.of, wide: true, cell: (one) => <span className="t2">{scopeText(one)}</span> },
  {
    head: t.columns.events,
    cell: (one) => (
      <span className="t2" title={one.events.map((event) => noticeTexts.events[event]).join(", ")}>
        {noticeTexts.eventsCount(one.events.length)}
      </span>
    ),
  },
];

const filters: ListFilter<Webhook>[] = [
  {
    key: "kind",
    label: t.kind,
    any: t.anyKind,
    of: (one) => one.kind,
    say: (value) => t.kinds[value as Webhook["kind"]] ?? value,
  },
];

const text = (one: Webhook) => `${one.name} ${one.host} ${scopeText(one)}`;
const key = (one: Webhook) => one.name;

/** The webhooks, which notify external systems. */
export function Webhooks() {
  return useReasonNotAdmin() ? <NotFound /> : <All />;
}

function All() {
  const query = useQuery(webhooks);
  const { opened, adding, add, close } = useOpenSheet();
  const [made, setMade] = useState<{ name: string; secret: string }>();
  const sheet = { made: setMade, taken: query.data?.map(key) ?? [], close };
  return (
    <Listing
      title={t.title}
      query={query}
      rowKey={key}
      columns={columns}
      text={text}
      filters={filters}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={t.empty}
      add={{ label: t.add, run: add }}
    >
      {adding ? <WebhookSheet {...sheet} /> : null}
      {opened && !adding ? (
        <LoadStored
          key={opened}
          kind="webhooks"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/webhooks/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <WebhookSheet opened={read} {...sheet} />}
        </LoadStored>
      ) : null}
      {made ? (
        <OneTimeSheet title={made.name} close={() => setMade(undefined)}>
          <OneTimeSecret text={made.secret} what={t.secret}>
            {t.made}
          </OneTimeSecret>
        </OneTimeSheet>
      ) : null}
    </Listing>
  );
}
