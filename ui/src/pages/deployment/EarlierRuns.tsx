import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Step } from "@/api/client";
import { runs } from "@/api/queries/deployments";
import { Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { elapsedBetween, formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { OutcomeMark } from "./OutcomeMark";
import { outcomeOf } from "./outcome";
import { ReadFailed } from "./ReadFailed";

const t = pageTexts;

/** How this step went in every run of the deployment, and what its usual time is judged by. */
export function EarlierRuns({ id, run, step }: { id: string; run: number; step: Step }) {
  const query = useQuery(runs(id));
  const unread = <ReadFailed what={t.historyUnread} query={query} />;
  if (!query.data) return query.isError ? unread : <Skeletons count={3} />;
  const others = query.data.items.flatMap((one) => {
    const same = one.steps.find((other) => other.key === step.key);
    return same && one.number !== run ? [{ number: one.number, at: one.created_at, same }] : [];
  });
  return (
    <div className="pane">
      {unread}
      {step.usual_seconds ? (
        <p className="t2 pb-2">{t.judged(formatDuration(step.usual_seconds * 1000))}</p>
      ) : null}
      {others.length === 0 ? <p className="t3">{t.earlierNone}</p> : null}
      <ul>
        {others.map(({ number, at, same }) => (
          <li key={number} className="row wrap py-1">
            <Link
              className="link"
              to="."
              params={(before: object) => before}
              search={{ run: number, step: step.key }}
              aria-label={t.history.show(number)}
            >
              {t.history.run} {number}
            </Link>
            <OutcomeMark {...outcomeOf(same)} />
            <span className="t2">
              {formatDuration(elapsedBetween(same.started_at, same.ended_at))}
            </span>
            <Time at={at} className="t3" />
          </li>
        ))}
      </ul>
    </div>
  );
}
