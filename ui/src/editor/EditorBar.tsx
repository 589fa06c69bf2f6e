import { copyText } from "@/components/Copy";
import { useToast } from "@/components/Toast";
import { editorTexts } from "@/editor/editorTexts";
import { canonical, pipelineOf } from "./model/document";
import { Toolbar } from "./Toolbar";
import type { Editing } from "./useEditing";

/** The bar above the drawing, bound to what is edited. */
export function EditorBar({ project, editing }: { project: string; editing: Editing }) {
  const { session, state, comparing, panels, sheets, whyNot } = editing;
  const say = useToast();
  const copyPipeline = async () => {
    // Sorted, so that the same pipeline is the same bytes wherever it was drawn.
    const text = JSON.stringify(JSON.parse(canonical(pipelineOf(session.doc))), null, 2);
    if (await copyText(text)) say("done", editorTexts.exported);
  };
  return (
    <Toolbar
      project={project}
      state={state}
      changes={comparing.own.changes.length}
      differs={comparing.differs}
      whyNot={whyNot}
      publishing={sheets.publishing}
      onUndo={() => session.undo()}
      onRedo={() => session.redo()}
      onVersions={() => panels.openHistory()}
      onChanges={() => panels.show("changes")}
      onDryRun={() => panels.show("dryRun")}
      onDiscard={() => sheets.open("discard")}
      onExport={copyPipeline}
      onMerge={() => sheets.open("merge")}
      onFollow={sheets.follow}
      onPublish={() => void sheets.publish()}
      onNote={() => sheets.open("note")}
    />
  );
}
