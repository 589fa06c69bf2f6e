import { Link } from "@tanstack/react-router";
import type { Deployment } from "@/api/client";
import { formatCount } from "@/components/quantity";
import { StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";

type Props = {
  deployments?: Deployment[];
  waiting?: number;
  /** Null when none is known. */
  backup?: string | null;
};

const underWay = ["applying", "undoing", "removing"];
const states = [
  "stuck",
  "failed",
  "applying",
  "undoing",
  "removing",
  "queued",
  "ready",
  "canceled",
] as const;

/** Deployments by state, runs, and the age of the last backup, in one line that leads to each. */
export function Figures({ deployments, waiting, backup }: Props) {
  const count = (state: string) => deployments?.filter((one) => one.status === state).length ?? 0;
  const running = underWay.reduce((sum, state) => sum + count(state), 0);
  return (
    <section className="figures" aria-label={t.figures}>
      {deployments?.length === 0 ? <span className="t2">{t.none}</span> : null}
      {states
        .filter((state) => count(state) > 0)
        .map((state) => (
          <Link key={state} to="/deployments" search={{ state }} className="hover:underline">
            <StatusMark state={state}>
              {`${formatCount(count(state))} ${stateWord(state).toLowerCase()}`}
            </StatusMark>
          </Link>
        ))}
      {deployments ? <span className="t2">{t.underWay(running)}</span> : null}
      {waiting === undefined ? null : <span className="t2">{t.waiting(waiting)}</span>}
      {backup === undefined ? null : (
        <span className="t2">
          {t.lastBackup} {backup === null ? t.never : <Time at={backup} />}
        </span>
      )}
    </section>
  );
}
