import { Link } from "@tanstack/react-router";
import type { Deployment, Step } from "@/api/client";
import { sayLine } from "@/components/lineNumber";
import { runTexts as t } from "@/pages/deployment/runTexts";

type Props = {
  deployment: Deployment;
  steps: Step[];
  /** The number of the line that says why. */
  line?: number;
};

/** From the sentence of cause to the line that says so, and to what is different from a good run. */
export function CauseLinks({ deployment, steps, line }: Props) {
  const { failure, run } = deployment;
  const step = steps.find((one) => one.key === failure?.step);
  return (
    <div className="row wrap gap-x-4 pt-0.5">
      {step && (line || step.lines > 0) ? (
        <Link
          className="link"
          to="."
          params={(before: object) => ({ ...before, tab: "run" })}
          search={{ run, step: step.key, line }}
          title={line ? sayLine(line) : undefined}
        >
          {line ? t.openLine : t.openLog(step.key)}
        </Link>
      ) : null}
      <Link
        className="link"
        to="."
        params={(before: object) => ({ ...before, tab: "compare" })}
        search={{ run }}
      >
        {t.compare}
      </Link>
    </div>
  );
}
