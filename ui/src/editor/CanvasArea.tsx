import { editorTexts } from "@/editor/editorTexts";
import { Canvas } from "./canvas/Canvas";
import type { Catalogue } from "./model/catalogue";
import { moveItems, setComment } from "./model/edit";
import type { Editing } from "./useEditing";

const t = editorTexts;

/** The drawing, bound to what is edited, or how to begin one. */
export function CanvasArea({ catalogue, editing }: { catalogue: Catalogue; editing: Editing }) {
  const { session, doc, choice, panels, comparing, change, stroke, actions } = editing;
  return (
    <section className="cv" aria-label={t.canvas}>
      <Canvas
        doc={doc}
        catalogue={catalogue}
        problems={editing.byKey}
        marks={comparing.marks}
        before={panels.tab === "changes" ? comparing.before : undefined}
        chosen={choice.chosen}
        chosenEdges={choice.chosenEdges}
        onChoose={choice.choose}
        onMove={(spots) => {
          const ids = [...spots.keys()].sort().join(",");
          change(moveItems(session.doc, spots), stroke.moved(ids));
        }}
        onConnect={actions.connect}
        judge={actions.judge}
        onLoose={actions.loose}
        onDragPort={actions.dragPort}
        onDrop={actions.add}
        onComment={(index, text) =>
          change(setComment(session.doc, index, text), stroke.typed(`comment ${index}`))
        }
        onTidy={() => void actions.lay()}
      />
      {doc.steps.length === 0 ? <p className="cvempty t2">{t.empty}</p> : null}
    </section>
  );
}
