import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { idleDeployments } from "@/api/queries/ledger";
import { Button } from "@/components/Button";
import { formatBytes, formatNumber } from "@/components/quantity";
import { ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { Rows } from "@/lists/ListRows";
import type { Column } from "@/lists/listProps";
import { usageTexts } from "@/pages/usage/usageTexts";
import { formatCost } from "./amounts";

const t = usageTexts.idle;

type Deployment = Schemas["IdleDeployment"];

/** Deployments that nobody used for a while, those that hold most first, to be removed here. */
export function Idle() {
  const query = useQuery(idleDeployments);
  const [leaving, setLeaving] = useState<Deployment>();
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: idleDeployments.queryKey });
  const rows = query.data?.items ?? [];
  return (
    <section aria-labelledby="idle">
      <h2 id="idle" className="px-4 pt-4">
        {t.title}
      </h2>
      <p className="t2 s px-4 py-2">{query.data && rows.length === 0 ? t.none : t.body}</p>
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeletons count={3} /> : null}
      {rows.length > 0 ? (
        <Rows
          rows={rows}
          rowKey={(one) => one.id}
          columns={columnsOf(query.data?.currency, setLeaving)}
        />
      ) : null}
      {leaving ? (
        <ConfirmDelete
          name={leaving.name}
          title={t.removeTitle(leaving.name)}
          label={t.remove}
          remove={() =>
            ask(client.DELETE("/api/v1/deployments/{id}", { params: { path: { id: leaving.id } } }))
          }
          done={again}
          close={() => setLeaving(undefined)}
        >
          <p>{t.removeBody(leaving.person)}</p>
        </ConfirmDelete>
      ) : null}
    </section>
  );
}

function columnsOf(
  currency: string | undefined,
  remove: (one: Deployment) => void,
): Column<Deployment>[] {
  const columns: Column<Deployment>[] = [
    {
      head: t.name,
      cell: ({ id, name, project, environment }) => (
        <span className="row">
          <Link className="link" to="/d/$id/{-$tab}" params={{ id, tab: undefined }} search={{}}>
            {name}
          </Link>
          <span className="t2">{`${project}, ${environment}`}</span>
        </span>
      ),
    },
    { head: t.owner, cell: ({ person, team }) => (team ? `${person}, ${team}` : person) },
    { head: t.since, cell: ({ active_at }) => <Time at={active_at} /> },
    { head: t.cpu, right: true, cell: ({ cpu }) => formatNumber(cpu) },
    {
      head: t.memory,
      right: true,
      cell: ({ memory_mib }) => formatBytes(memory_mib * 1024 * 1024),
    },
    { head: t.gpus, right: true, wide: true, cell: ({ gpus }) => gpus },
  ];
  if (currency)
    columns.push({
      head: t.perDay,
      right: true,
      cell: ({ cost_per_day }) => formatCost(cost_per_day, currency),
    });
  columns.push({
    head: t.remove,
    cell: (one) => (
      <Button small look="danger" aria-label={t.removeOf(one.name)} onClick={() => remove(one)}>
        {t.remove}
      </Button>
    ),
  });
  return columns;
}
