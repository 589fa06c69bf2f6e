import {
  type UseQueryResult,
  useMutation,
  useQuery,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { downloadFile } from "@/api/file";
import { me } from "@/api/queries/common";
import { usageBy } from "@/api/queries/ledger";
import { Button } from "@/components/Button";
import { CommandLine } from "@/components/CommandLine";
import { formatBytes } from "@/components/quantity";
import { Select } from "@/components/Select";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { Listing } from "@/lists/Listing";
import type { Column } from "@/lists/listProps";
import { usageTexts as t } from "@/pages/usage/usageTexts";
import { formatCost, formatShare, gibHours, hours, periodOf, weightOf } from "./amounts";
import { Budgets } from "./Budgets";
import { Idle } from "./Idle";
import { ShareBar } from "./ShareBar";

type Balance = Schemas["UsageBalance"];
type Group = keyof typeof t.groups;

const optionsOf = (words: Record<string, string>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));
const groups = optionsOf(t.groups);
const periods = optionsOf(t.periods);
const key = (one: Balance) => one.key.join(" ");
const PRICES = "nullops usage prices --currency EUR --cpu-hour 0.02 --memory-gib-hour 0.005";

/** Who held how much, what was meant for them, and which deployments nobody uses. */
export function Usage() {
  const { data: person } = useSuspenseQuery(me);
  const admin = person.role === "admin";
  const [by, setBy] = useState<Group>("team");
  const [period, setPeriod] = useState("month");
  const query = useQuery(usageBy(by, periodOf(period)));
  const { items, currency } = query.data ?? {};
  const columns = useMemo(() => columnsOf(by, items ?? [], currency), [by, items, currency]);
  return (
    <Listing
      title={t.title}
      query={{ ...query, data: items } as UseQueryResult<Balance[]>}
      rowKey={key}
      columns={columns}
      text={key}
      unread={t.unread}
      emptyTitle={t.emptyTitle}
      empty={t.empty}
      bar={
        <>
          <Choice label={t.when} value={period} options={periods} choose={setPeriod} />
          <Choice label={t.by} value={by} options={groups} choose={(one) => setBy(one as Group)} />
          <Export by={by} days={periodOf(period)} />
        </>
      }
      above={<Sums items={items ?? []} currency={currency} />}
      below={
        <>
          {admin && query.data && !currency ? (
            <div className="px-4 pt-4">
              <CommandLine label={t.noPrices} line={PRICES} what={t.budgets.line} />
            </div>
          ) : null}
          {admin ? <Budgets /> : null}
          <Idle />
        </>
      }
    />
  );
}

type ChoiceProps = {
  label: string;
  value: string;
  options: { value: string; label: string }[];
  choose: (value: string) => void;
};

function Choice({ label, value, options, choose }: ChoiceProps) {
  return (
    <Select
      small
      label={label}
      value={value}
      options={options}
      placeholder={label}
      onChange={choose}
    />
  );
}

/** What is shown, as a file. */
function Export({ by, days }: { by: Group; days: { from?: string; to?: string } }) {
  const say = useToast();
  const file = useMutation({
    mutationFn: () =>
      downloadFile(
        `/api/v1/usage/ledger?${new URLSearchParams({ by, ...days })}`,
        `nullops-usage-by-${by}.csv`,
      ),
    onError: (error) => say("failed", `${t.unexported} ${describeError(error).message}`),
  });
  return (
    <Button small busy={file.isPending ? t.exporting : undefined} onClick={() => file.mutate()}>
      {t.export}
    </Button>
  );
}

/** What the rows come to together. */
function Sums({ items, currency }: { items: Balance[]; currency?: string }) {
  const sum = (of: (one: Balance) => number) => items.reduce((all, one) => all + of(one), 0);
  const cost = currency
    ? formatCost(
        sum((one) => one.cost ?? 0),
        currency,
      )
    : undefined;
  const cpu = hours(sum(({ amounts }) => amounts.cpu_seconds));
  const memory = gibHours(sum(({ amounts }) => amounts.memory_byte_seconds));
  return (
    <p className="t2 s px-4 py-2">
      {items.length > 0 ? <b className="mr-1">{t.all(cpu, memory, cost)}</b> : null}
      {t.reserved}
    </p>
  );
}

function columnsOf(by: Group, items: Balance[], currency?: string): Column<Balance>[] {
  const priced = Boolean(currency);
  const all = items.reduce((sum, one) => sum + weightOf(one, priced), 0);
  const amount = (head: string, cell: (one: Balance["amounts"]) => string, wide = false) => ({
    head,
    right: true,
    wide,
    cell: ({ amounts }: Balance) => cell(amounts),
  });
  return [
    {
      head: t.groups[by],
      cell: ({ key: [name] }) => <Name by={by} name={name} />,
    },
    {
      head: t.share,
      wide: true,
      cell: (one) => <Share name={key(one) || t.nobody} part={weightOf(one, priced)} all={all} />,
    },
    ...(currency
      ? [
          {
            head: t.columns.cost,
            right: true,
            cell: ({ cost }: Balance) => formatCost(cost, currency),
          },
        ]
      : []),
    amount(t.columns.cpu, (one) => hours(one.cpu_seconds)),
    amount(t.columns.memory, (one) => gibHours(one.memory_byte_seconds)),
    amount(t.columns.gpu, (one) => hours(one.gpu_seconds)),
    amount(t.columns.volumes, (one) => gibHours(one.volume_byte_seconds), true),
    amount(t.columns.traffic, (one) => formatBytes(one.traffic_bytes), true),
  ];
}

/** What the list is narrowed to for one of them; it cannot be asked for a node or a day. */
const filters = {
  project: (project: string) => ({ project }),
  environment: (env: string) => ({ env }),
  person: (q: string) => ({ q }),
};

/** Leads to the team, or to the deployments that it is about. */
function Name({ by, name }: { by: Group; name?: string }) {
  if (!name) return <span className="t3">{t.nobody}</span>;
  const look = "font-semibold hover:underline";
  if (by === "team")
    return (
      <Link className={look} to="/teams" search={{ open: name }}>
        {name}
      </Link>
    );
  if (by === "day" || by === "node") return <b>{name}</b>;
  return (
    <Link className={look} to="/deployments" search={filters[by](name)}>
      {name}
    </Link>
  );
}

function Share({ name, part, all }: { name: string; part: number; all: number }) {
  const share = formatShare(part, all);
  return (
    <span className="row min-w-36">
      <ShareBar share={all > 0 ? part / all : 0} label={t.shareOf(name, share)} />
      <span className="s t2 nw">{share}</span>
    </span>
  );
}
