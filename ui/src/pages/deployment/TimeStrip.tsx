import "./run.css";
import type { Step } from "@/api/client";
import { lookOf, stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { elapsedTime } from "./elapsedTime";
import { outcomeOf } from "./outcome";

const t = pageTexts;

/** The run as a strip: each step as wide as it usually takes. */
export function TimeStrip({ steps }: { steps: Step[] }) {
  const now = useNow();
  // Its place is kept, so that nothing moves when the steps are there.
  if (steps.length === 0) return <div className="strip" />;
  const spent = (step: Step) => elapsedTime(step, now);
  const label = steps
    .map((step) => {
      const over = usualOf(step, spent(step));
      const said = `${step.key} ${sayOutcome(step)} ${formatDuration(spent(step))}`.trim();
      return over ? `${said} (${t.usual(formatDuration(over))})` : said;
    })
    .join(", ");
  const total = steps.reduce((sum, step) => sum + stripWidth(step), 0);
  return (
    <div className="strip" role="img" aria-label={`${t.strip}: ${label}`}>
      {steps.map((step) => {
        const weight = stripWidth(step);
        const over = usualOf(step, spent(step));
        const running = step.status === "running" || step.status === "pulling";
        return (
          <div
            key={step.key}
            className="sg1"
            data-st={lookOf(outcomeOf(step).state)}
            data-cleanup={outcomeOf(step).cleanup}
            style={{ flex: `${weight} 1 0` }}
            title={`${step.key} ${formatDuration(spent(step))}`}
          >
            {over ? <i className="um" style={{ left: `${(100 * over) / spent(step)}%` }} /> : null}
            <span>
              {weight / total > 0.045 ? step.key : ""}
              {running ? ` · ${formatDuration(spent(step))}` : ""}
            </span>
            {over && weight / total > 0.25 ? (
              <span className="end pl-2">{t.usual(formatDuration(over))}</span>
            ) : null}
          </div>
        );
      })}
    </div>
  );
}

function sayOutcome(step: Step): string {
  const { state, cleanup } = outcomeOf(step);
  return [state, cleanup].flatMap((word) => (word ? stateWord(word) : [])).join(", ");
}

/** The usual time of a step that is under way and over it, in ms: a mark says where it ended. */
function usualOf({ status, usual_seconds }: Step, spent: number): number | undefined {
  const usual = (usual_seconds ?? 0) * 1000;
  return status === "running" && usual > 0 && spent > usual ? usual : undefined;
}

/**
 * By the usual time only, so that nothing moves while the run goes on; the axis of time has how long
 * it really takes. Square root, so that a quick step beside a slow one can still be seen.
 */
function stripWidth({ usual_seconds: usual }: Step): number {
  return Math.sqrt(Math.max(0.4, usual ?? 3));
}
