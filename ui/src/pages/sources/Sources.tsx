import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Schemas } from "@/api/client";
import { sources } from "@/api/queries/sources";
import { shortCommit } from "@/components/commit";
import { LoadStored } from "@/forms/LoadStored";
import { OneTimeSheet } from "@/forms/OneTimeSheet";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { OneTimeSecret } from "../people/OneTimeSecret";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { HookAddress, SourceSheet } from "./SourceSheet";
import { StandingMark } from "./SourceState";
import { sourceTexts as t } from "./sourceTexts";
import { type Standing, standingOf } from "./state";

type Source = Schemas["DefinitionSource"];

const columns: Column<Source>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        {one.active ? null : <span className="chip">{t.off}</span>}
      </span>
    ),
  },
  {
    head: t.columns.repository,
    wide: true,
    cell: (one) => (
      <span className="mono">{[one.url, one.branch, one.folder].filter(Boolean).join(" · ")}</span>
    ),
  },
  {
    head: t.columns.status,
    cell: (one) => (
      <span className="row">
        <StandingMark one={one} />
        {one.drift.length > 0 ? <span className="chip">{t.drifted(driftedOf(one))}</span> : null}
      </span>
    ),
  },
  {
    head: t.columns.applied,
    cell: (one) =>
      one.applied ? (
        <span className="mono">{shortCommit(one.applied.hash)}</span>
      ) : (
        <span className="t2">{t.never}</span>
      ),
  },
];

/** Parts of one definition count as one. */
const driftedOf = (one: Source) =>
  new Set(one.drift.map(({ kind, name }) => `${kind} ${name}`)).size;

const filters: ListFilter<Source>[] = [
  {
    key: "status",
    label: t.status,
    any: t.anyStatus,
    of: standingOf,
    say: (value) => t.statuses[value as Standing] ?? value,
  },
];

const text = (one: Source) => `${one.name} ${one.url} ${one.branch} ${one.folder ?? ""}`;
const key = (one: Source) => one.name;

/** Which repositories define what is here. */
export function Sources() {
  return useReasonNotAdmin() ? <NotFound /> : <All />;
}

function All() {
  const query = useQuery(sources);
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
      {adding ? <SourceSheet {...sheet} /> : null}
      {opened && !adding ? (
        <LoadStored
          key={opened}
          kind="sources"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/sources/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <SourceSheet opened={read} {...sheet} />}
        </LoadStored>
      ) : null}
      {made ? (
        <OneTimeSheet title={made.name} close={() => setMade(undefined)}>
          <HookAddress name={made.name} />
          <OneTimeSecret text={made.secret} what={t.secret}>
            {t.made}
          </OneTimeSecret>
        </OneTimeSheet>
      ) : null}
    </Listing>
  );
}
