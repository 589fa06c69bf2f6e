import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { budgets } from "@/api/queries/ledger";
import { CommandLine } from "@/components/CommandLine";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { TimeAhead } from "@/components/TimeAhead";
import { usageTexts } from "@/pages/usage/usageTexts";
import { formatAmount, formatShare } from "./amounts";
import { ShareBar } from "./ShareBar";

const t = usageTexts.budgets;
const LINE =
  "nullops usage budget set NAME --scope team --subject TEAM --measure cpu_hours --amount 2000 --share 50,80,100";

/** What teams and others should use in this month, and how much of that is used; for admins. */
export function Budgets() {
  const query = useQuery(budgets);
  const all = query.data?.items ?? [];
  return (
    <section className="px-4 pt-4" aria-labelledby="budgets">
      <h2 id="budgets">{t.title}</h2>
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeletons count={2} /> : null}
      {query.data && all.length === 0 ? (
        <>
          <p className="t2 s py-2">{t.none}</p>
          <CommandLine line={LINE} what={t.line} />
        </>
      ) : null}
      <ul className="grid grid-cols-1 gap-3 py-2 min-[720px]:grid-cols-2 min-[1180px]:grid-cols-3">
        {all.map((budget) => (
          <Budget key={budget.name} budget={budget} />
        ))}
      </ul>
    </section>
  );
}

function Budget({ budget }: { budget: Schemas["Budget"] }) {
  const { name, scope, subject, measure, amount, used, remove_at } = budget;
  const share = formatShare(used, amount);
  return (
    <li className="card px-4">
      <div className="row">
        <b className="tr">{name}</b>
        <span className="t2 s end tr">{t.of(t.scopes[scope], subject)}</span>
      </div>
      <ShareBar share={used / amount} label={t.meter(name, share)} full={used >= amount} />
      <div className="row wrap s">
        <span>{t.used(formatAmount(used), formatAmount(amount), t.measures[measure])}</span>
        <span className="t2 end">{share}</span>
      </div>
      {used >= amount ? (
        <StatusMark state="warn" small>
          {t.over}
        </StatusMark>
      ) : null}
      {remove_at ? (
        <span className="s">
          {t.removes} <TimeAhead at={remove_at} />
        </span>
      ) : null}
    </li>
  );
}
