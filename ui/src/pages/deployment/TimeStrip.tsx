import type { Step } from "@/api/client";
import { lookOf, stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { duration } from "@/components/time";
import { texts } from "@/texts";
import { spentOf } from "./spent";

const t = texts.page;

/** The run as a strip: each step as wide as it took, or usually takes. */
export function TimeStrip({ steps }: { steps: Step[] }) {
  const now = useNow();
  // Its place is kept, so that nothing moves when the steps are there.
  if (steps.length === 0) return <div className="strip" />;
  const spent = (step: Step) => spentOf(step, now);
  const label = steps
    .map((step) => `${step.key} ${stateWord(step.status)} ${duration(spent(step))}`.trim())
    .join(", ");
  const total = steps.reduce((sum, step) => sum + weigh(step, spent(step)), 0);
  return (
    <div className="strip" role="img" aria-label={`${t.strip}: ${label}`}>
      {steps.map((step) => {
        const weight = weigh(step, spent(step));
        const running = step.status === "running" || step.status === "pulling";
        return (
          <div
            key={step.key}
            className="sg1"
            data-st={lookOf(step.status)}
            style={{ flex: `${weight} 1 0` }}
            title={`${step.key} ${duration(spent(step))}`}
          >
            <span>
              {weight / total > 0.045 ? step.key : ""}
              {running ? ` · ${duration(spent(step))}` : ""}
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** Square root, so that a quick step beside a slow one can still be seen. */
function weigh(step: Step, spent: number): number {
  const seconds = Number.isFinite(spent) ? spent / 1000 : (step.usual_seconds ?? 3);
  return Math.sqrt(Math.max(0.4, seconds));
}
