import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { usageBy } from "@/api/queries/ledger";
import { formatBytes } from "@/components/quantity";
import { Select } from "@/components/Select";
import { Listing } from "@/lists/Listing";
import type { Column } from "@/lists/listProps";
import { usageTexts as t } from "@/pages/usage/usageTexts";
import { formatCost, gibHours, hours } from "./amounts";
import { Idle } from "./Idle";

type Balance = Schemas["UsageBalance"];
type Group = keyof typeof t.groups;

const groups = Object.entries(t.groups).map(([value, label]) => ({ value, label }));
const key = (one: Balance) => one.key.join(" ");

/** Who held how much this month, and which deployments nobody uses. */
export function Usage() {
  const [by, setBy] = useState<Group>("team");
  const query = useQuery(usageBy(by));
  const rows = { ...query, data: query.data?.items } as UseQueryResult<Balance[]>;
  return (
    <Listing
      title={t.title}
      query={rows}
      rowKey={key}
      columns={columnsOf(by, query.data?.currency)}
      text={key}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={t.empty}
      bar={
        <Select
          small
          label={t.by}
          value={by}
          options={groups}
          placeholder={t.by}
          onChange={(next) => setBy(next as Group)}
        />
      }
      above={<p className="t2 s px-4 py-2">{t.month}</p>}
      below={<Idle />}
    />
  );
}

function columnsOf(by: Group, currency?: string): Column<Balance>[] {
  const amount = (head: string, cell: (one: Balance["amounts"]) => string, wide = false) => ({
    head,
    right: true,
    wide,
    cell: ({ amounts }: Balance) => cell(amounts),
  });
  const columns: Column<Balance>[] = [
    {
      head: t.groups[by],
      cell: ({ key: [name] }) => name || <span className="t3">{t.nobody}</span>,
    },
    amount(t.columns.cpu, (one) => hours(one.cpu_seconds)),
    amount(t.columns.memory, (one) => gibHours(one.memory_byte_seconds)),
    amount(t.columns.gpu, (one) => hours(one.gpu_seconds)),
    amount(t.columns.volumes, (one) => gibHours(one.volume_byte_seconds), true),
    amount(t.columns.traffic, (one) => formatBytes(one.traffic_bytes), true),
  ];
  if (currency)
    columns.push({
      head: t.columns.cost,
      right: true,
      cell: ({ cost }) => formatCost(cost, currency),
    });
  return columns;
}
