import "../deployment/run.css";
import type { Step } from "@/api/client";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Approval } from "../deployment/Approval";
import { edgePath } from "../deployment/graphLayout";
import { HeartBeat } from "../deployment/HeartBeat";
import { StepNode } from "../deployment/StepNode";
import { TimeLeft } from "../deployment/TimeLeft";
import { TimeStrip } from "../deployment/TimeStrip";
import { before, kept, pulled, question, statuses, step } from "./examples";
import { Part, Shown } from "./Part";

const all = statuses.map((status, i) => step(status, i + 1));
const nothing = () => {};

/** A step of a run: each state, one that is chosen, and one whose image is pulled ahead. */
export function Steps() {
  const [pending] = all;
  return (
    <Part title={t.sections.steps}>
      <div className="stategrid">
        {all.map((one) => (
          <StepNode
            key={one.key}
            step={one}
            progress={one.status === "pulling" ? pulled : undefined}
            signs={["running", "pulling"].includes(one.status) ? [Date.now() - 2000] : undefined}
            selected={false}
            onSelect={nothing}
          />
        ))}
        <StepNode step={step("done", 11)} selected onSelect={nothing} />
        {pending ? (
          <StepNode step={pending} progress={pulled} selected={false} onSelect={nothing} />
        ) : null}
      </div>
    </Part>
  );
}

const line = edgePath([
  { x: 6, y: 2 },
  { x: 6, y: 50 },
]);

/** A line between steps: not yet, on the way, done, failed, taken back. */
export function Edges() {
  return (
    <Part title={t.sections.edges}>
      <div className="row gap-7">
        {(["pending", "running", "done", "failed", "undone"] as const).map((state) => (
          <Shown key={state} name={t.edges[state]}>
            <svg width={12} height={54} aria-hidden="true">
              <path className="edge" data-st={state} d={line} />
              <path className="edgehead" data-st={state} d="M2 44h8l-4 7z" />
            </svg>
          </Shown>
        ))}
      </div>
    </Part>
  );
}

const runs = (usual_seconds: number | undefined, began: number): Step =>
  step("running", 1, { usual_seconds, started_at: before(began) });

/** Signs of life: within the usual time, slow but alive, quiet, and perhaps stuck. */
export function Beats() {
  const now = Date.now();
  const spoke = (...ago: number[]) => ago.map((seconds) => now - seconds * 1000);
  return (
    <Part title={t.sections.beats}>
      <HeartBeat step={runs(120, 20)} signs={spoke(18, 14, 9, 4, 1)} />
      <HeartBeat step={runs(120, 60)} signs={spoke(26, 25)} />
      <HeartBeat step={runs(20, 60)} signs={spoke(20, 8, 1)} />
      <HeartBeat step={runs(20, 90)} signs={[]} />
    </Part>
  );
}

/** A whole run in one line: under way, over its usual time, in line, failed and undone, waiting, and not known yet. */
export function Strips() {
  const run = (...states: Step["status"][]) =>
    states.map((state, i) => step(state, i + 1, { key: `${state}-${i + 1}` }));
  return (
    <Part title={t.sections.strips}>
      <TimeStrip steps={run("done", "done", "running", "pulling", "pending")} />
      <Shown name={t.strips.over}>
        <TimeStrip steps={[step("done", 1), runs(20, 90), step("pending", 3)]} />
      </Shown>
      <Shown name={t.strips.queued}>
        <TimeStrip steps={run("pending", "pending", "pending")} />
      </Shown>
      <TimeStrip steps={run("undone", "undoing", "failed", "skipped")} />
      <TimeStrip steps={run("done", "waiting", "pending", "unknown")} />
      <TimeStrip steps={[]} />
    </Part>
  );
}

/** How long something stays: days, hours, no longer, and held. */
export function Lefts() {
  return (
    <Part title={t.sections.left}>
      {kept.map(([name, one]) => (
        <Shown key={name} name={name}>
          <TimeLeft deployment={one} />
        </Shown>
      ))}
    </Part>
  );
}

/** The question of a run: to be answered, not by this person, and answered. */
export function Approvals() {
  const refusal = t.examples.notYours;
  const answered = { answered_by: "aiko-tanaka", answered_at: before(20), approved: true };
  return (
    <Part title={t.sections.approval}>
      <Approval deployment={question()} />
      <Approval deployment={question({ may_answer: false, refusal })} />
      <Approval deployment={question(answered)} />
    </Part>
  );
}
