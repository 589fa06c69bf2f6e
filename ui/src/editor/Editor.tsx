import "./editor.css";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { ReactFlowProvider } from "@xyflow/react";
import { lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import { me } from "@/api/queries/common";
import { loadChunk } from "@/components/loadChunk";
import { PageSkeleton } from "@/components/PageSkeleton";
import { ErrorState } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { BottomPanel } from "./BottomPanel";
import { CanvasArea } from "./CanvasArea";
import { Palette } from "./canvas/Palette";
import { loadPasting } from "./canvas/useCanvasActions";
import { focusCanvas } from "./canvas/useKeyboardNavigation";
import { EditorBar } from "./EditorBar";
import type { EditorProps, LoadedProps } from "./editorProps";
import { Inspector, preloadInspector } from "./inspector/Inspector";
import type { Problem } from "./model/problems";
import { Sheets } from "./Sheets";
import { SecretActs } from "./secretActs";
import { catalogue as catalogueQuery } from "./session/draftApi";
import { REFETCH_ON_FOCUS } from "./session/refetchPolicy";
import { useSession } from "./session/useSession";
import { useEditing } from "./useEditing";
import { useEditorKeys } from "./useEditorKeys";
import { usePanes } from "./usePanes";

const t = editorTexts;

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
        <div className="top" />
        <PageSkeleton shape="editor" />
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

const SetSecret = lazy(() => loadChunk(() => import("@/forms/SetSecret")));
const ComposeDialog = lazy(() => loadChunk(() => import("./ComposeDialog")));
const NO_PROBLEMS: Problem[] = [];

/** For who comes by Tab: past the bar and the list of parts. */
const SkipLink = () => (
  <button type="button" className="btn skip" onClick={focusCanvas}>
    {t.skip}
  </button>
);

function Loaded(props: LoadedProps) {
  const editing = useEditing(props);
  const { project, catalogue } = props;
  const { state, doc, step, problems, comparing, panels, sheets, actions } = editing;
  const find = useRef<HTMLInputElement>(null);
  const panes = usePanes(doc.steps.length);
  const count = editing.choice.chosen.size;
  useEffect(() => {
    preloadInspector();
    void loadPasting();
  }, []);
  useEditorKeys(editing, find);
  return (
    <SecretActs value={editing.secrets.acts}>
      <SkipLink />
      <EditorBar project={project} editing={editing} />
      <div
        className="eg"
        data-palette={panes.palette ? "open" : "rail"}
        data-inspector={step || count > 1 || panes.about ? "open" : "rail"}
      >
        <Palette
          catalogue={catalogue}
          field={find}
          open={panes.palette}
          onOpen={panes.showPalette}
          onAdd={(what) => actions.add(what)}
          onPick={({ right: x, top: y }) => actions.openPicker({ x, y })}
        />
        <CanvasArea catalogue={catalogue} editing={editing} />
        <Inspector
          turn={editing.choice.turn}
          step={step}
          count={count}
          about={panes.about}
          onAbout={panes.showAbout}
          doc={doc}
          catalogue={catalogue}
          problems={step ? (editing.byKey.get(step.key) ?? NO_PROBLEMS) : problems.all}
          sample={editing.sample}
          images={editing.images}
          unread={problems.unread}
          {...editing.inspecting}
        />
        <BottomPanel
          project={project}
          base={state.base}
          problems={problems.all}
          asked={problems.asked}
          comparing={comparing}
          tab={panels.tab}
          onTab={panels.show}
          onCompare={panels.against}
          onShow={editing.show}
          doc={doc}
          catalogue={catalogue}
          only={step?.key}
          dry={editing.ran}
          runs={editing.runs}
        />
      </div>
      <Sheets
        project={project}
        state={state}
        comparing={comparing}
        panels={panels}
        sheets={sheets}
        whyNot={editing.whyNot}
        onOpen={(old) => {
          editing.change(old);
          panels.close();
        }}
      />
      <Suspense>
        {editing.secrets.setting ? (
          <SetSecret
            project={project}
            name={editing.secrets.setting}
            onClose={editing.secrets.close}
          />
        ) : null}
        {editing.composing.reading ? <ComposeDialog compose={editing.composing} /> : null}
      </Suspense>
    </SecretActs>
  );
}
