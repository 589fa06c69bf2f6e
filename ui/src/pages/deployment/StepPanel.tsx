import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import type { Step } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import type { LogRow } from "@/components/LogLine";
import { LogView } from "@/components/LogView";
import { logTexts } from "@/components/logTexts";
import { ErrorState } from "@/components/States";
import { useNow } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { EarlierRuns } from "./EarlierRuns";
import { elapsedTime } from "./elapsedTime";
import { HeartBeat } from "./HeartBeat";
import { OutcomeMark } from "./OutcomeMark";
import { hasFailed, outcomeOf } from "./outcome";
import { ContainerLog, StartLog } from "./ServiceLog";
import { StepTabs } from "./StepTabs";
import type { StepTab } from "./search";
import { TestResults } from "./TestResults";
import { useStepLog, type Watch } from "./useDeploymentStream";
import { addressOf, useSearchChange } from "./useSearchChange";

const t = pageTexts;

type Props = {
  watch: Watch;
  id: string;
  run: number;
  step: Step;
  signs?: number[];
  show?: StepTab;
  name: string;
  /** The number of the line that the address names. */
  line?: number;
  /** The number of the line that says why the step failed. */
  cause?: number;
  /** The page says already why the step failed. */
  told?: boolean;
};

/** What the selected step says, was given, and gave back. */
export function StepPanel(props: Props) {
  const { watch, id, run, step, signs, show, name, line, cause, told } = props;
  const tabs = <StepTabs step={step.key} show={show} />;
  return (
    <>
      <div className="sth">
        <OutcomeMark {...outcomeOf(step)} />
        <h2 className="tr max-w-[50%] shrink-0">{step.key}</h2>
        <span className="t3 tr">
          {step.kind === "approval" || step.kind === "script"
            ? t[step.kind]
            : `${t[step.kind]} ${step.title}`}
        </span>
        <Spent step={step} />
      </div>
      {step.status === "running" || step.status === "pulling" ? (
        <div className="px-4 pb-2">
          <HeartBeat step={step} signs={signs} />
        </div>
      ) : null}
      {step.message && !told ? (
        <div className="px-4 pb-2">
          <div className="box" data-st={hasFailed(step) ? "failed" : "queued"}>
            <span className="min-w-0 wrap-anywhere">
              <BidiSafe text={step.message} />
              {sayExitCode(step)}
            </span>
          </div>
        </div>
      ) : null}
      {step.tests ? (
        <TestResults
          key={`${run}/${step.key}`}
          id={id}
          run={run}
          step={step.key}
          tests={step.tests}
        />
      ) : null}
      {show ? <div className="sub">{tabs}</div> : null}
      {show === "input" ? <Values values={step.inputs} none={t.noInput} /> : null}
      {show === "output" ? (
        <Values
          values={{ ...step.outputs, ...metadata(step) }}
          none={step.ended_at ? t.noOutput : t.noOutputYet}
        />
      ) : null}
      {show === "earlier" ? <EarlierRuns id={id} run={run} step={step} /> : null}
      {show ? null : isInContainer(step) ? (
        <ContainerLog key={step.key} id={id} service={step.key} name={name} head={tabs} />
      ) : isOfService(step) ? (
        <StartLog
          key={`${run}/${step.key}`}
          {...{ id, run, name }}
          service={step.key}
          head={tabs}
        />
      ) : (
        <Log {...{ watch, run, step, name, tabs, line, cause }} />
      )}
    </>
  );
}

/** The exit code, unless the message has it. */
function sayExitCode({ message, exit_code: code }: Step): string {
  const said = code ? t.exitCode(code) : "";
  return !said || message?.includes(said) ? "" : ` (${said})`;
}

/** Whether the log is the container's: a job that failed or was undone left its lines with the step. */
function isInContainer({ kind, status }: Step): boolean {
  return kind === "job" && (status === "running" || status === "done");
}

/** Whether the log is what a service writes from its start on; one that failed left it with the step. */
function isOfService({ kind, status }: Step): boolean {
  return kind === "service" && (status === "running" || status === "done");
}

function Spent({ step }: { step: Step }) {
  const now = useNow();
  const spent = elapsedTime(step, now);
  if (!Number.isFinite(spent)) return null;
  const over = step.usual_seconds ? spent - step.usual_seconds * 1000 : 0;
  const much = over > 2000 && over > spent / 4;
  return (
    <span className="end s t2 nw">
      {formatDuration(spent)}
      {much ? (
        <>
          , <b>{t.over(formatDuration(over))}</b>
        </>
      ) : null}
    </span>
  );
}

type LogProps = Pick<Props, "watch" | "run" | "step" | "name" | "line" | "cause"> & {
  tabs: ReactNode;
};

function Log({ watch, run, step, name, tabs, line, cause }: LogProps) {
  const { log, error, reading, again } = useStepLog(watch, run, step);
  const address = useLineAddress(run, step.key);
  const visit = useLocation({ select: ({ state }) => state.visit });
  const started = Boolean(step.started_at) || step.lines > 0 || log.lines.length > 0;
  const empty =
    reading && started
      ? logTexts.reading
      : !started
        ? logTexts.waiting
        : step.ended_at
          ? logTexts.none
          : logTexts.noneYet;
  return (
    <>
      {error ? <ErrorState what={logTexts.unread} error={error} retry={again} /> : null}
      <LogView
        key={`${run}/${step.key}`}
        head={tabs}
        label={logTexts.label(step.key)}
        lines={log.lines}
        cut={log.cut}
        start={step.started_at}
        empty={empty}
        end={step.ended_at ? logTexts.ended : undefined}
        name={`${name}-run${run}-${step.key}`}
        target={line === undefined ? undefined : String(line)}
        visit={visit}
        cause={cause}
        {...address}
      />
    </>
  );
}

/** Leads to a line of a step's log, and says the address that does. The same ones, while they can. */
function useLineAddress(run: number, step: string) {
  const change = useSearchChange();
  return useMemo(() => {
    const search = ({ number }: LogRow) => ({ run, step, line: number, show: undefined });
    return {
      link: (row: LogRow) => addressOf(search(row)),
      go: (row: LogRow) => change(search(row)),
    };
  }, [run, step, change]);
}

function Values({ values, none }: { values?: Record<string, unknown>; none: string }) {
  const entries = Object.entries(values ?? {});
  if (entries.length === 0) return <p className="pane t3">{none}</p>;
  return (
    <dl className="kv pane content-start">
      {entries.map(([key, value]) => (
        <Pair
          key={key}
          name={key}
          value={typeof value === "string" ? value : JSON.stringify(value, null, 2)}
        />
      ))}
    </dl>
  );
}

/** What a plugin wants shown beside what it returned. */
function metadata(step: Step): Record<string, string> {
  return Object.fromEntries(
    (step.metadata ?? []).map(({ name, value }) => [`${t.metadata}: ${name}`, value]),
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="mono">{name}</dt>
      <dd className="mono whitespace-pre-wrap">
        <BidiSafe text={value} />
      </dd>
    </>
  );
}
