import "./editor.css";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { me } from "@/api/queries/common";
import { copyText } from "@/components/Copy";
import { ErrorState, Skeletons } from "@/components/States";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import { BottomPanel } from "./BottomPanel";
import { Canvas } from "./canvas/Canvas";
import { focusField, nextProblem } from "./canvas/connections";
import { Palette } from "./canvas/Palette";
import { useCanvasActions } from "./canvas/useCanvasActions";
import { useKeyboardNavigation } from "./canvas/useKeyboardNavigation";
import { useSelection } from "./canvas/useSelection";
import { useComparison } from "./compare/useComparison";
import { Inspector } from "./inspector/Inspector";
import { useInspectorActions } from "./inspector/useInspectorActions";
import type { Catalogue } from "./model/catalogue";
import { copySteps } from "./model/clipboard";
import { canonical, type Doc, pipelineOf, stepOf } from "./model/document";
import { allIds, moveItems, setComment } from "./model/edit";
import type { Problem } from "./model/problems";
import type { PipelineSearch } from "./pipelineSearch";
import { Sheets } from "./Sheets";
import { catalogue as catalogueQuery } from "./session/draftApi";
import { type DryRunResult, hasSameRun } from "./session/dryFindings";
import { REFETCH_ON_FOCUS } from "./session/refetchPolicy";
import { describeProblem, problemsOfRefusal } from "./session/serverProblems";
import type { Session } from "./session/session";
import { useByStep, useProblems, useSample } from "./session/useProblems";
import { useSession, useSessionState } from "./session/useSession";
import { useSheets } from "./session/useSheets";
import { useUndoGrouping } from "./session/useUndoGrouping";
import { Toolbar } from "./Toolbar";
import { usePanel } from "./usePanel";
import { useShortcuts } from "./useShortcuts";

const t = editorTexts;

type EditorProps = {
  project: string;
  chosen?: string;
  onChoose: (step: string | undefined) => void;
  /** What else the address says is open. */
  panel?: PipelineSearch["panel"];
  compare?: string;
  onAddress: (next: Pick<PipelineSearch, "panel" | "compare">) => void;
  /** Shown while there is no room to draw. */
  instead?: ReactNode;
};

/** The pipeline editor. */
export function Editor(props: EditorProps) {
  const { data: person } = useSuspenseQuery(me);
  const { session, error, retry } = useSession(props.project, person.name);
  const catalogue = useQuery({ ...catalogueQuery(props.project), ...REFETCH_ON_FOCUS });
  if (props.instead) return props.instead;
  // What could not be read again is still here: the drawing, and what can be undone, stay.
  const wrong = error ?? (catalogue.data ? undefined : catalogue.error);
  if (wrong)
    return (
      <Headed>
        <ErrorState
          what={t.unread}
          error={wrong}
          retry={() => {
            if (!session) retry();
            void catalogue.refetch();
          }}
        />
      </Headed>
    );
  if (!session || !catalogue.data)
    return (
      <Headed>
        <Skeletons count={8} height={66} />
      </Headed>
    );
  return (
    <ReactFlowProvider>
      <Loaded {...props} session={session} catalogue={catalogue.data} />
    </ReactFlowProvider>
  );
}

/** What stands in the editor's place; its bar, with the heading, comes with the drawing. */
const Headed = ({ children }: { children: ReactNode }) => (
  <>
    <h1 className="vh">{t.title}</h1>
    {children}
  </>
);

const NOTHING = new Set<string>();
const NO_PROBLEMS: Problem[] = [];

function Loaded(props: EditorProps & { session: Session; catalogue: Catalogue }) {
  const { project, session, catalogue } = props;
  const state = useSessionState(session);
  const doc = state.history.now;
  const flow = useReactFlow();
  const say = useToast();
  const choice = useSelection(state, props.chosen, props.onChoose);
  const { chosen, chosenEdges, only, step, choose } = choice;
  const panels = usePanel(props);
  const { tab } = panels;
  const [ran, setRan] = useState<DryRunResult>();
  const find = useRef<HTMLInputElement>(null);
  const lastShown = useRef<Problem>(undefined);
  const problems = useProblems(project, doc, catalogue);
  const dry = tab === "dryRun" && ran && hasSameRun(ran.doc, doc) ? ran : undefined;
  const shown = useMemo(() => (dry ? dry.problems : problems.all), [problems.all, dry]);
  const byKey = useByStep(shown);
  const { changes } = problems;
  const compared = { project, state, tab, compare: panels.compared, dry, catalogue, changes };
  const comparing = useComparison(compared);
  const { differs, marks } = comparing;
  const change = useCallback((next: Doc, kind?: string) => session.change(next, kind), [session]);
  const stroke = useUndoGrouping();
  const { unread } = problems;
  const inspecting = useInspectorActions({
    session,
    catalogue,
    step,
    stroke,
    unread,
    rename: choice.rename,
  });

  const sample = useSample(project);

  const show = (key: string, field?: string) => {
    choose(stepOf(session.doc, key) ? new Set([key]) : NOTHING, NOTHING);
    void flow.fitView({ nodes: [{ id: key }], maxZoom: 1, padding: 0.8, duration: 0 });
    if (!field) return;
    // The inspector shows the step only after this.
    setTimeout(() => focusField(field), 60);
  };

  const hand = useCanvasActions({ session, catalogue, step, chosen, chosenEdges, choose });
  const sheets = useSheets({
    project,
    session,
    onRefused: (error) => {
      const [first] = problemsOfRefusal(error, session.doc);
      say(
        "failed",
        t.refused(first ? describeProblem(first) : error instanceof Error ? error.message : ""),
      );
      if (first?.step) show(first.step, first.field);
    },
  });
  const { publishing, publish } = sheets;
  const errors = problems.all.filter((one) => !one.advice);
  // The server knows what else a version carries: what the catalogue says now.
  const news = differs || comparing.own.changes.length > 0 || changes === true;
  const whyNot = publishReason(errors.length, news, Boolean(state.clash), state.base);
  const walking = useKeyboardNavigation({ doc, only, choose });
  const nextOne = () => {
    const next = nextProblem(shown, lastShown.current, only);
    lastShown.current = next;
    if (next?.step) show(next.step, next.field);
  };

  useShortcuts({
    find: () => find.current?.focus(),
    fit: () => void flow.fitView({ padding: 0.15, maxZoom: 1 }),
    tidy: () => void hand.lay(),
    undo: () => session.undo(),
    redo: () => session.redo(),
    all: () => choose(allIds(doc), NOTHING),
    remove: hand.remove,
    duplicate: () => hand.insert(copySteps(doc, chosen), { x: 32, y: 32 }),
    open: () => focusField("key"),
    connect: () => focusField("needs", "[data-connect]"),
    problem: nextOne,
    save: () => void session.flush(),
    publish: () => {
      if (whyNot) say("failed", whyNot);
      else if (!publishing) void publish();
    },
    copied: () => {
      if (chosen.size === 0) return undefined;
      say("done", t.copied(chosen.size));
      return copySteps(doc, chosen);
    },
    pasted: (text) => hand.insert(text, { x: 40, y: 40 }),
    escape: () => choose(NOTHING, NOTHING),
    ...walking,
  });

  return (
    <>
      <Toolbar
        project={project}
        state={state}
        changes={comparing.own.changes.length}
        differs={differs}
        whyNot={whyNot}
        publishing={publishing}
        onUndo={() => session.undo()}
        onRedo={() => session.redo()}
        onVersions={() => panels.openHistory()}
        onChanges={() => panels.show("changes")}
        onDryRun={() => panels.show("dryRun")}
        onDiscard={() => sheets.open("discard")}
        onExport={async () => {
          // Sorted, so that the same pipeline is the same bytes wherever it was drawn.
          const text = JSON.stringify(JSON.parse(canonical(pipelineOf(session.doc))), null, 2);
          if (await copyText(text)) say("done", t.exported);
        }}
        onMerge={() => sheets.open("merge")}
        onFollow={sheets.follow}
        onPublish={() => void publish()}
        onNote={() => sheets.open("note")}
      />
      <div className="eg">
        <Palette catalogue={catalogue} field={find} onAdd={hand.add} />
        <section className="cv" aria-label={t.canvas}>
          <Canvas
            doc={doc}
            catalogue={catalogue}
            problems={byKey}
            marks={marks}
            before={tab === "changes" ? comparing.before : undefined}
            chosen={chosen}
            chosenEdges={chosenEdges}
            onChoose={choose}
            onMove={(spots) => {
              const ids = [...spots.keys()].sort().join(",");
              change(moveItems(session.doc, spots), stroke.moved(ids));
            }}
            onConnect={hand.connect}
            judge={hand.judge}
            onLoose={hand.loose}
            onDragPort={hand.dragPort}
            onDrop={hand.add}
            onComment={(index, text) =>
              change(setComment(session.doc, index, text), stroke.typed(`comment ${index}`))
            }
            onTidy={() => void hand.lay()}
          />
          {doc.steps.length === 0 ? <p className="cvempty t2">{t.empty}</p> : null}
        </section>
        <Inspector
          turn={choice.turn}
          step={step}
          count={chosen.size}
          doc={doc}
          catalogue={catalogue}
          problems={(step && byKey.get(step.key)) ?? NO_PROBLEMS}
          sample={sample}
          unread={unread}
          {...inspecting}
        />
        <BottomPanel
          project={project}
          base={state.base}
          problems={problems.all}
          asked={problems.asked}
          comparing={comparing}
          tab={tab}
          onTab={panels.show}
          onCompare={panels.against}
          onShow={show}
          doc={doc}
          catalogue={catalogue}
          only={step?.key}
          dry={ran}
          onDryRun={setRan}
        />
      </div>
      <Sheets
        project={project}
        state={state}
        comparing={comparing}
        panels={panels}
        sheets={sheets}
        whyNot={whyNot}
        onOpen={(old) => {
          change(old);
          panels.close();
        }}
      />
    </>
  );
}

function publishReason(errors: number, news: boolean, clash: boolean, base: number) {
  if (clash) return t.merge.waits;
  if (errors > 0) return t.publishWaits(errors);
  if (!news) return base > 0 ? t.publishNothing : t.publishSame;
  return undefined;
}
