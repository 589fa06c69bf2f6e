import { Link } from "@tanstack/react-router";
import { Globe, Info, RotateCcw, Server, Timer, User, Workflow } from "lucide-react";
import type { Deployment, Run, Schemas, Step } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { BidiSafe } from "@/components/BidiSafe";
import { Pill, StatusMark, stateWord } from "@/components/Status";
import { Time, useNow } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { waitsForMe } from "../deployments/filters";
import { shareOf } from "../deployments/Row";
import { describeTests, hasTestProblem } from "../testSummary";
import { Acts } from "./Acts";
import { Approval } from "./Approval";
import { CauseLinks } from "./CauseLinks";
import { workingTime } from "./elapsedTime";
import { MainUrl } from "./MainUrl";
import { stateMessage } from "./stateMessage";
import { TimeLeft } from "./TimeLeft";
import { stateOfVerdict } from "./verdictState";
import { WhoIsHere } from "./WhoIsHere";

const t = pageTexts;

type Props = {
  deployment: Deployment;
  steps: Step[];
  run?: Run;
  /** The shown state may be outdated, so no timer keeps counting. */
  before?: boolean;
  /** Why the latest run failed, with the line of the log that says so. */
  cause?: Schemas["Failure"];
};

/** Where it stands, how long that took, and what can be done. */
export function Header({ deployment, steps, run, before, cause }: Props) {
  return (
    <div className="dh">
      <div className="row gap-3">
        <h1 className="tr" title={deployment.name}>
          {deployment.name}
        </h1>
        <Pill state={shownState(deployment)} share={shareOf(deployment)}>
          {sayState(deployment, steps)}
        </Pill>
        {before && deployment.status === "applying" ? null : (
          <Spent deployment={deployment} steps={steps} run={run} />
        )}
        <Acts deployment={deployment} steps={steps} />
      </div>
      <MainUrl deployment={deployment} />
      <Facts deployment={deployment} />
      <Box deployment={deployment} steps={steps} cause={cause} />
      <Approval deployment={deployment} />
    </div>
  );
}

function sayState(deployment: Deployment, steps: Step[]): string {
  const state = shownState(deployment);
  const word = stateWord(state);
  if (waitsForMe(deployment)) return texts.list.asks;
  if (state === "failed" && deployment.failure?.step) return t.failedAt(deployment.failure.step);
  if (state === "applying" && steps.length > 0) {
    const done = steps.filter((step) => step.status === "done").length;
    return t.stepOf(word, Math.min(done + 1, steps.length), steps.length);
  }
  return word;
}

function Spent({ deployment, steps, run }: Pick<Props, "deployment" | "steps" | "run">) {
  const now = useNow();
  if (!run || run.number !== deployment.run) return null;
  const worked = workingTime(steps, endOf(deployment, run), now);
  // Nothing has begun yet: before its first step, or its first answer, it only waits.
  if (!worked) return null;
  const spent = formatDuration(worked);
  if (deployment.status === "applying") {
    const usual = deployment.usual_seconds
      ? `, ${t.usually(formatDuration(deployment.usual_seconds * 1000))}`
      : "";
    return (
      <span className="t3 nw">
        {t.soFar(spent)}
        {usual}
      </span>
    );
  }
  if (deployment.status === "ready") return <span className="t3 nw">{t.in(spent)}</span>;
  if (deployment.status === "failed") return <span className="t3 nw">{t.after(spent)}</span>;
  return null;
}

function endOf(deployment: Deployment, run: Run): string | undefined {
  if (deployment.status === "applying") return undefined;
  return deployment.ready_at ?? run.ended_at ?? deployment.changed_at;
}

function Facts({ deployment }: { deployment: Deployment }) {
  return (
    <div className="meta">
      <span className="row">
        <Workflow className="i sm" aria-hidden="true" />
        <Link to="/projects/$name/pipeline" params={{ name: deployment.project }}>
          {deployment.project}
        </Link>{" "}
        <span className="t3">{t.pipeline(deployment.pipeline_version)}</span>
      </span>
      <span className="row">
        <Globe className="i sm" aria-hidden="true" />
        {deployment.environment}
      </span>
      {deployment.node ? (
        <span className="row">
          <Server className="i sm" aria-hidden="true" />
          {deployment.node}
        </span>
      ) : null}
      <span className="row">
        <User className="i sm" aria-hidden="true" />
        {deployment.created_by} <Time at={deployment.created_at} className="t3" alone />
      </span>
      <TimeLeft deployment={deployment} />
      <WhoIsHere deployment={deployment} />
      <Tries deployment={deployment} />
      <Degraded deployment={deployment} />
      <Marked deployment={deployment} />
      <Judged deployment={deployment} />
      {deployment.detail && !["failed", "stuck"].includes(deployment.status) ? (
        <span className="row">
          <Timer className="i sm" aria-hidden="true" />
          <BidiSafe text={deployment.detail} />
        </span>
      ) : null}
      {deployment.pull_request?.remark ? (
        <span className="row">
          <Info className="i sm" aria-hidden="true" />
          <BidiSafe text={deployment.pull_request.remark} />
        </span>
      ) : null}
    </div>
  );
}

/** Which services do not work, and why. */
function Degraded({ deployment }: { deployment: Deployment }) {
  if (deployment.condition !== "degraded") return null;
  return (
    <StatusMark state="degraded" small>
      <BidiSafe text={deployment.condition_reason ?? ""} />
    </StatusMark>
  );
}

/** What QA said last. */
function Judged({ deployment: { verdict } }: { deployment: Deployment }) {
  if (!verdict) return null;
  return (
    <StatusMark state={stateOfVerdict(verdict)} small>
      {verdict.voided_at ? t.qaVoid : t.qa[verdict.outcome]}
    </StatusMark>
  );
}

/** That tests failed without failing the run. */
function Marked({ deployment }: { deployment: Deployment }) {
  const { tests, failure } = deployment;
  if (failure || !hasTestProblem(tests)) return null;
  return (
    <StatusMark state="warn" small>
      {describeTests(tests)}
    </StatusMark>
  );
}

/** How often it was tried: by people, and by telling the node again after a lost link. */
function Tries({ deployment }: { deployment: Deployment }) {
  const { run, queue, scratch } = deployment;
  return (
    <>
      {run > 1 ? (
        <span className="row" data-tries>
          <RotateCcw className="i sm" aria-hidden="true" />
          {t.retries(run - 1)}
        </span>
      ) : null}
      {queue && queue.attempts > 1 ? <span className="t3">{t.told(queue.attempts)}</span> : null}
      {scratch ? (
        <span className="chip out" title={t.scratchHint}>
          {t.scratch}
        </span>
      ) : null}
    </>
  );
}

/** One tinted box, only when there is something a person has to know. */
function Box({ deployment, steps, cause }: Omit<Props, "run" | "before">) {
  const said = stateMessage(deployment, steps);
  if (!said) return null;
  return (
    <div className="box mt-0.5" data-st={said.state}>
      <StatusMark state={said.state}>
        <span className="vh">{stateWord(said.state)}</span>
      </StatusMark>
      <div className="grow">
        <b className="whitespace-pre-wrap">
          <BidiSafe text={said.title} />
        </b>
        {said.more.length > 0 ? <div className="t2">{said.more.join(" ")}</div> : null}
        {deployment.failure && said.state !== "queued" ? (
          <CauseLinks deployment={deployment} steps={steps} line={cause?.line} />
        ) : null}
        {said.to ? (
          <Link
            className="link"
            to="/d/$id/{-$tab}"
            params={{ id: said.to, tab: undefined }}
            search={{}}
          >
            {deployTexts.move.open}
          </Link>
        ) : null}
        {said.left ? (
          <ul className="mono list-disc pl-5">
            {said.left.map((thing) => (
              <li key={thing}>
                <BidiSafe text={thing} />
              </li>
            ))}
          </ul>
        ) : null}
      </div>
    </div>
  );
}
