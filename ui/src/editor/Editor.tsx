import "./editor.css";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { ReactFlowProvider } from "@xyflow/react";
import { type ReactNode, useRef } from "react";
import { me } from "@/api/queries/common";
import { ErrorState, Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import { BottomPanel } from "./BottomPanel";
import { CanvasArea } from "./CanvasArea";
import { Palette } from "./canvas/Palette";
import { EditorBar } from "./EditorBar";
import type { EditorProps, LoadedProps } from "./editorProps";
import { Inspector } from "./inspector/Inspector";
import type { Problem } from "./model/problems";
import { Sheets } from "./Sheets";
import { catalogue as catalogueQuery } from "./session/draftApi";
import { REFETCH_ON_FOCUS } from "./session/refetchPolicy";
import { useSession } from "./session/useSession";
import { useEditing } from "./useEditing";
import { useEditorKeys } from "./useEditorKeys";

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

const NO_PROBLEMS: Problem[] = [];

function Loaded(props: LoadedProps) {
  const editing = useEditing(props);
  const { project, catalogue } = props;
  const { state, doc, step, problems, comparing, panels, sheets, actions } = editing;
  const find = useRef<HTMLInputElement>(null);
  useEditorKeys(editing, find);
  return (
    <>
      <EditorBar project={project} editing={editing} />
      <div className="eg">
        <Palette catalogue={catalogue} field={find} onAdd={actions.add} />
        <CanvasArea catalogue={catalogue} editing={editing} />
        <Inspector
          turn={editing.choice.turn}
          step={step}
          count={editing.choice.chosen.size}
          doc={doc}
          catalogue={catalogue}
          problems={step ? (editing.byKey.get(step.key) ?? NO_PROBLEMS) : problems.all}
          sample={editing.sample}
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
          onDryRun={editing.setRan}
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
    </>
  );
}
