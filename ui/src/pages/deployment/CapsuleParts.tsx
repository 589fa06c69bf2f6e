import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Time } from "@/components/Time";
import { elapsedBetween, formatDuration } from "@/components/time";
import { deployTexts } from "@/pages/deployTexts";
import { OutcomeMark } from "./OutcomeMark";
import { outcomeOf } from "./outcome";
import { FailedTests, TestNumbers } from "./TestResults";

const t = deployTexts.capsule;

type Step = Schemas["CapsuleStep"];

/** What each step came to, when, and the end of what it said. What a service says is with it. */
export function CapsuleSteps({ steps, services }: { steps: Step[]; services: string[] }) {
  if (steps.length === 0) return null;
  return (
    <section aria-label={t.steps} className="flex flex-col gap-3">
      <h2>{t.steps}</h2>
      {steps.map((step) => (
        <section key={step.key} className="card" aria-label={t.step(step.key)}>
          <div className="row wrap">
            <b>{step.key}</b>
            <OutcomeMark {...outcomeOf(step)} />
            <span className="t3">{step.title}</span>
            <Times step={step} />
          </div>
          {step.message ? (
            <p className="t2">
              <BidiSafe text={step.message} />
            </p>
          ) : null}
          {step.tests ? (
            <>
              <div className="row wrap">
                <TestNumbers tests={step.tests.summary} />
              </div>
              <FailedTests report={step.tests} />
            </>
          ) : null}
          <LastLines
            of={t.step(step.key)}
            lines={step.log}
            none={step.started_at && !services.includes(step.key) ? t.noLog : undefined}
          />
        </section>
      ))}
    </section>
  );
}

function Times({ step: { started_at: from, ended_at: to } }: { step: Step }) {
  if (!from) return null;
  return (
    <span className="t3 s end nw">
      <Time at={from} />
      {to ? `, ${t.took(formatDuration(elapsedBetween(from, to)))}` : ""}
    </span>
  );
}

type LinesProps = { of: string; lines: string[]; none?: string };

export function LastLines({ of, lines, none }: LinesProps) {
  if (lines.length === 0) return none ? <p className="t3">{none}</p> : null;
  return (
    <pre
      className="caplog"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
      tabIndex={0}
      role="region"
      aria-label={`${t.log}: ${of}`}
    >
      <BidiSafe text={lines.join("\n")} />
    </pre>
  );
}
