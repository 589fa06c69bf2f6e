import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Schemas } from "@/api/client";
import { rules } from "@/api/queries/notices";
import { StatusMark } from "@/components/Status";
import { partOf } from "@/forms/conflict";
import { LoadStored } from "@/forms/LoadStored";
import { OneTimeSheet } from "@/forms/OneTimeSheet";
import { Listing } from "@/lists/Listing";
import type { Column, ListFilter } from "@/lists/listProps";
import { OpenLink } from "@/lists/OpenLink";
import { useOpenSheet } from "@/lists/useOpenSheet";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";
import { OneTimeSecret } from "../people/OneTimeSecret";
import { NotFound } from "../shell/ErrorPages";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { RuleAddress } from "./RuleAddress";
import { RuleSheet } from "./RuleSheet";

type Rule = Schemas["Rule"];

const columns: Column<Rule>[] = [
  {
    head: t.columns.name,
    cell: (one) => (
      <span className="row">
        <OpenLink name={one.name} />
        {one.active ? null : <span className="chip">{t.off}</span>}
        {one.refusal ? <StatusMark state="failed">{t.refusedChip}</StatusMark> : null}
      </span>
    ),
  },
  {
    head: t.columns.source,
    cell: (one) => (
      <span>
        {t.sources[one.source]} <span className="t2 mono">{one.repository}</span>
      </span>
    ),
  },
  {
    head: t.columns.branch,
    wide: true,
    cell: (one) =>
      one.branch ? (
        <span className="mono">{one.branch}</span>
      ) : (
        <span className="t2">{t.everyBranch}</span>
      ),
  },
  { head: t.columns.tag, cell: (one) => <span className="mono">{one.tag}</span> },
  {
    head: t.columns.to,
    cell: (one) => <span className="t2">{`${one.project}, ${one.environment}`}</span>,
  },
];

const filters: ListFilter<Rule>[] = [
  {
    key: "source",
    label: t.source,
    any: t.anySource,
    of: (one) => one.source,
    say: (value) => t.sources[value as Rule["source"]] ?? value,
  },
  { key: "project", label: t.project, any: t.anyProject, of: (one) => one.project },
];

const text = (one: Rule) =>
  `${one.name} ${one.repository ?? ""} ${one.project} ${one.environment} ${one.branch ?? ""}`;
const key = (one: Rule) => one.name;

/** Which pull requests become deployments. */
export function Rules() {
  return useReasonNotAdmin() ? <NotFound /> : <All />;
}

type Made = { name: string; source: Rule["source"]; secret: string };

function All() {
  const query = useQuery(rules);
  const { opened, adding, add, close } = useOpenSheet();
  const [made, setMade] = useState<Made>();
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
      {adding ? <RuleSheet {...sheet} /> : null}
      {opened && !adding ? (
        <LoadStored
          key={opened}
          kind="rules"
          name={opened}
          close={close}
          read={() => client.GET("/api/v1/rules/{name}", { params: { path: { name: opened } } })}
        >
          {(read) => <RuleSheet opened={partOf(read, ({ rule }) => rule)} {...sheet} />}
        </LoadStored>
      ) : null}
      {made ? (
        <OneTimeSheet title={made.name} close={() => setMade(undefined)}>
          <RuleAddress name={made.name} hint={t.setUp[made.source]} />
          <OneTimeSecret text={made.secret} what={t.secret}>
            {t.made}
          </OneTimeSecret>
        </OneTimeSheet>
      ) : null}
    </Listing>
  );
}
