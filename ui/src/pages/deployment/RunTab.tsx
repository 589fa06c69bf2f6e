import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useRef } from "react";
import type { Deployment, Progress, Schemas, Step } from "@/api/client";
import { Glyph } from "@/components/Glyph";
import { loadChunk } from "@/components/loadChunk";
import { useNarrow } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { lookOf } from "@/components/Status";
import { elapsedBetween, formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { EarlierRunNotice } from "./EarlierRunNotice";
import { hasFailed } from "./outcome";
import { ServiceRows } from "./Services";
import { StepNode } from "./StepNode";
import { StepPanel } from "./StepPanel";
import type { PageSearch } from "./search";
import type { useSteps, Watch } from "./useDeploymentStream";
import { useStepKeys } from "./useStepKeys";
import { ViewTabs } from "./ViewTabs";

const Graph = lazy(() =>
  loadChunk(() => import("./Graph")).then((module) => ({ default: module.Graph })),
);
const Timeline = lazy(() => loadChunk(() => import("./Timeline")));
const t = pageTexts;

type Props = {
  watch: Watch;
  deployment: Deployment;
  number: number;
  steps: ReturnType<typeof useSteps>;
  progress: Record<string, Progress | undefined>;
  signs: Record<string, number[] | undefined>;
  search: PageSearch;
  /** Why the run failed, once that is known. */
  cause?: Schemas["Failure"];
};

/** The graph, the selected step beside it, and the services below. */
export function RunTab(props: Props) {
  const { watch, deployment, number, steps, progress, signs, search, cause } = props;
  const navigate = useNavigate();
  const narrow = useNarrow(1180);
  const choose = useCallback(
    (step: string) =>
      void navigate({
        to: ".",
        search: (before: object) => ({ ...before, step, show: undefined, line: undefined }),
        params: (before: object) => before,
        replace: true,
      }),
    [navigate],
  );
  const followed = useFollowed(steps.steps);
  // What went wrong is what people come for, whatever was undone after it.
  const failed = number === deployment.run ? deployment.failure?.step : undefined;
  const wanted = search.step ?? failed ?? followed;
  const selected = steps.steps.find((step) => step.key === wanted);
  const move = (by: number) => {
    const at = steps.steps.findIndex((step) => step.key === selected?.key);
    const next = steps.steps[at + by];
    if (next) choose(next.key);
    return next?.key;
  };
  useStepKeys(move);

  if (steps.error && steps.steps.length === 0)
    return <ErrorState what={t.runUnread} error={steps.error} retry={steps.refetch} />;
  return (
    <>
      {number === deployment.run ? null : <EarlierRunNotice number={number} />}
      <div className="rg">
        <section className="gp" aria-label={t.graph} data-steps>
          <ViewTabs view={search.view} narrow={narrow} />
          {steps.steps.length === 0 ? <Skeletons count={7} height={66} /> : null}
          {search.view === "time" && steps.steps.length > 0 ? (
            <Suspense fallback={<Skeletons count={7} height={28} />}>
              <Timeline
                run={steps.run}
                steps={steps.steps}
                selected={selected?.key}
                onSelect={choose}
              />
            </Suspense>
          ) : narrow || steps.steps.length === 0 ? (
            <div className="steps">
              {steps.steps.map((step) => (
                <StepNode
                  key={step.key}
                  step={step}
                  progress={progress[step.key]}
                  signs={signs[step.key]}
                  selected={step.key === selected?.key}
                  onSelect={choose}
                />
              ))}
            </div>
          ) : (
            <Suspense fallback={<Skeletons count={steps.steps.length} height={66} />}>
              <Graph
                steps={steps.steps}
                progress={progress}
                signs={signs}
                selected={selected?.key}
                onSelect={choose}
              />
            </Suspense>
          )}
          <Note steps={steps.steps} />
        </section>
        <section className="lp" aria-label={selected?.key ?? t.graph}>
          {selected ? (
            <StepPanel
              watch={watch}
              run={number}
              step={selected}
              signs={signs[selected.key]}
              id={deployment.id}
              show={search.show}
              line={search.step === selected.key ? search.line : undefined}
              cause={cause?.step === selected.key ? cause.line : undefined}
              told={number === deployment.run && isCauseTold(deployment, selected.key)}
              name={deployment.name}
            />
          ) : null}
          {number === deployment.run && deployment.services.length > 0 ? (
            <div className="svc">
              <ServiceRows deployment={deployment} steps={steps.steps} />
            </div>
          ) : null}
        </section>
      </div>
    </>
  );
}

/** Whether the head of the page says why this step failed. */
function isCauseTold({ failure, status }: Deployment, step: string): boolean {
  return failure?.step === step && ["failed", "undoing", "stuck"].includes(status);
}

/**
 * The step that is worth looking at: the one that failed, else the one that runs now. When nothing
 * runs, it stays where it was, so that the view does not jump at the end of a run.
 */
function useFollowed(steps: Step[]): string | undefined {
  const last = useRef<string>(undefined);
  const now =
    steps.find(hasFailed) ??
    steps.find((step) =>
      ["running", "pulling", "undoing", "waiting", "unknown"].includes(step.status),
    );
  const key = now?.key ?? last.current ?? steps[steps.length - 1]?.key;
  useEffect(() => {
    if (now) last.current = now.key;
  }, [now]);
  return key;
}

/** One line under the graph: what happens if it fails, or what happened. */
function Note({ steps }: { steps: Step[] }) {
  const said = sayNote(steps);
  if (!said) return null;
  return (
    <div className="gnote" data-st={lookOf(said.state)}>
      <Glyph state={said.state} size="sm" />
      {said.text}
    </div>
  );
}

function sayNote(steps: Step[]): { state: string; text: string } | undefined {
  if (steps.length === 0) return undefined;
  const count = (...states: string[]) =>
    steps.filter((step) => states.includes(step.status)).length;
  const undone = count("undone");
  const ran = steps.length - count("pending", "skipped");
  if (count("undoing") > 0)
    return { state: "undoing", text: t.noteUndoing(undone, ran - count("failed")) };
  if (undone > 0) return { state: "undone", text: t.noteFailed(undone, ran) };
  const done = count("done");
  if (done < steps.length) return { state: "undoing", text: t.noteRunning(done) };
  const starts = steps.flatMap((step) => step.started_at ?? []).sort();
  const ends = steps.flatMap((step) => step.ended_at ?? []).sort();
  return {
    state: "ready",
    text: t.noteReady(
      steps.length,
      formatDuration(elapsedBetween(starts[0], ends[ends.length - 1])),
    ),
  };
}
