import { useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useSolved, useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import { focusField, nextProblem } from "./canvas/connections";
import { useCanvasActions } from "./canvas/useCanvasActions";
import { type Selection, useSelection } from "./canvas/useSelection";
import { useComparison } from "./compare/useComparison";
import type { LoadedProps } from "./editorProps";
import { useInspectorActions } from "./inspector/useInspectorActions";
import type { Catalogue } from "./model/catalogue";
import { type Doc, stepOf } from "./model/document";
import { imageProblems } from "./model/imageAdvice";
import { missingSecrets } from "./model/missingSecrets";
import type { Problem } from "./model/problems";
import type { Tab } from "./pipelineSearch";
import { type DryRunResult, hasSameRun } from "./session/dryFindings";
import { describeProblem, problemsOfRefusal } from "./session/serverProblems";
import { useServiceImages } from "./session/serviceImages";
import type { Session } from "./session/session";
import { useCompose } from "./session/useCompose";
import { type DryRuns, useDryRun } from "./session/useDryRun";
import { useByStep, useProblems, useSample } from "./session/useProblems";
import { useSessionState } from "./session/useSession";
import { useSheets } from "./session/useSheets";
import { useUndoGrouping } from "./session/useUndoGrouping";
import { usePanel } from "./usePanel";

const t = editorTexts;
const NOTHING = new Set<string>();

export type Editing = ReturnType<typeof useEditing>;

/** All that the parts of the editor share: the drawing, the selection, what is wrong, what is open. */
export function useEditing(props: LoadedProps) {
  const { project, session, catalogue } = props;
  const state = useSessionState(session);
  const doc = state.history.now;
  const choice = useSelection(state, props.chosen, props.onChoose);
  const { chosen, chosenEdges, only, step, choose } = choice;
  const panels = usePanel(props);
  const { tab } = panels;
  const [ran, setRan] = useState<DryRunResult>();
  const runs = useDryRun(project, catalogue, setRan);
  const found = useProblems(project, doc, catalogue);
  const images = useServiceImages(doc);
  const problems = useMemo(
    () => ({ ...found, all: [...found.all, ...imageProblems(doc, images)] }),
    [found, doc, images],
  );
  const secrets = useMissingSecrets(doc, catalogue);
  const dry = tab === "dryRun" && ran && hasSameRun(ran.doc, doc) ? ran : undefined;
  const shown = useMemo(() => (dry ? dry.problems : problems.all), [problems.all, dry]);
  const byKey = useByStep(shown);
  const { changes, unread } = problems;
  const compared = { project, state, tab, compare: panels.compared, dry, catalogue, changes };
  const comparing = useComparison(compared);
  const solved = useSolved();
  // What was refused is of the past once the drawing is another, however that came.
  useEffect(() => solved(), [doc, solved]);
  const change = useCallback((next: Doc, kind?: string) => session.change(next, kind), [session]);
  const stroke = useUndoGrouping();
  const { rename } = choice;
  const inspecting = useInspectorActions({ session, catalogue, step, stroke, unread, rename });
  const sample = useSample(project);
  const { show, showNextProblem } = useStepFocus(session, choose, shown, only);
  const actions = useCanvasActions({ session, catalogue, step, chosen, chosenEdges, choose });
  const [finding, setFinding] = useState(false);
  const searching = { on: finding, open: () => setFinding(true), close: () => setFinding(false) };
  const sheets = useSheets({ project, session, onRefused: useRefusal(session, show) });
  const composing = useCompose({
    project,
    draw: (steps) => {
      const text = JSON.stringify({ nullops: "pipeline-steps", steps });
      void actions.insert(text, { x: 0, y: 0 }).then(actions.lay);
    },
  });
  const errors = problems.all.filter((one) => !one.advice);
  // The server knows what else a version carries: what the catalogue says now.
  const news = comparing.differs || comparing.own.changes.length > 0 || changes === true;
  const whyNot = publishReason(errors.length, news, Boolean(state.clash), state.base);
  return {
    session,
    state,
    doc,
    choice,
    step,
    panels,
    ran,
    runs,
    results: resultsOf(runs, tab, doc),
    problems,
    byKey,
    comparing,
    change,
    stroke,
    inspecting,
    sample,
    show,
    showNextProblem,
    actions,
    searching,
    sheets,
    images,
    secrets,
    composing,
    compose: composing.read,
    whyNot,
  };
}

/** What came of the steps when a branch ran, while the panel of runs is open. */
function resultsOf({ branch, scratchRun }: DryRuns, tab: Tab, doc: Doc) {
  const of = branch.variables?.doc;
  return tab === "dryRun" && of && hasSameRun(of, doc) ? scratchRun.steps : undefined;
}

/** Which secrets the project lacks, and which of them somebody is setting. */
function useMissingSecrets(doc: Doc, catalogue: Catalogue) {
  const [setting, set] = useState<string>();
  const acts = useMemo(
    () => ({ missing: (one: Problem) => missingSecrets(one, doc, catalogue), set }),
    [doc, catalogue],
  );
  return { acts, setting, close: () => set(undefined) };
}

/** Brings a step, and a field of it, into sight; also the next step that has a problem. */
function useStepFocus(
  session: Session,
  choose: Selection["choose"],
  shown: Problem[],
  only: string | undefined,
) {
  const flow = useReactFlow();
  const lastShown = useRef<Problem>(undefined);
  const show = (key: string, field?: string) => {
    choose(stepOf(session.doc, key) ? new Set([key]) : NOTHING, NOTHING);
    void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 0.8, duration: 0 });
    if (!field) return;
    // The inspector shows the step only after this.
    setTimeout(() => focusField(field), 60);
  };
  const showNextProblem = () => {
    const next = nextProblem(shown, lastShown.current, only);
    lastShown.current = next;
    if (next?.step) show(next.step, next.field);
  };
  return { show, showNextProblem };
}

/** Says why publishing was refused, and shows the step that it is about. */
function useRefusal(session: Session, show: (key: string, field?: string) => void) {
  const say = useToast();
  return (error: unknown) => {
    const [first] = problemsOfRefusal(error, session.doc);
    say(
      "failed",
      t.refused(first ? describeProblem(first) : error instanceof Error ? error.message : ""),
    );
    if (first?.step) show(first.step, first.field);
  };
}

function publishReason(errors: number, news: boolean, clash: boolean, base: number) {
  if (clash) return t.merge.waits;
  if (errors > 0) return t.publishWaits(errors);
  if (!news) return base > 0 ? t.publishNothing : t.publishSame;
  return undefined;
}
