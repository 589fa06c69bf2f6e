import { lazy, Suspense } from "react";
import { loadChunk } from "@/components/loadChunk";
import { editorTexts } from "@/editor/editorTexts";
import { Canvas } from "./canvas/Canvas";
import type { Catalogue } from "./model/catalogue";
import { moveItems, setComment } from "./model/edit";
import type { Editing } from "./useEditing";

const t = editorTexts;

const EmptyCanvas = lazy(() => loadChunk(() => import("./EmptyCanvas")));
const CanvasOverlay = lazy(() => loadChunk(() => import("./canvas/CanvasOverlay")));
const CanvasSearch = lazy(() => loadChunk(() => import("./canvas/CanvasSearch")));

/** The drawing, bound to what is edited, or how to begin one. */
export function CanvasArea({ catalogue, editing }: { catalogue: Catalogue; editing: Editing }) {
  const { session, doc, choice, panels, comparing, change, stroke, actions, searching } = editing;
  return (
    <section className="cv" aria-label={t.canvas} id="canvas" tabIndex={-1}>
      <Canvas
        doc={doc}
        catalogue={catalogue}
        problems={editing.byKey}
        marks={comparing.marks}
        results={editing.results}
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
        onFile={editing.compose}
        onPlus={(from, at) => actions.openPicker(at, from)}
        onMenu={actions.openMenu}
        onComment={(index, text) =>
          change(setComment(session.doc, index, text), stroke.typed(`comment ${index}`))
        }
        onTidy={() => void actions.lay()}
        onFind={searching.open}
      />
      <Suspense>
        {doc.steps.length === 0 && !actions.float ? (
          <EmptyCanvas catalogue={catalogue} editing={editing} />
        ) : null}
        {searching.on ? (
          <CanvasSearch doc={doc} onShow={editing.show} onClose={searching.close} />
        ) : null}
        {actions.float ? (
          <CanvasOverlay
            float={actions.float}
            editing={editing}
            catalogue={catalogue}
            onClose={() => actions.setFloat(undefined)}
            onPick={(what, float) => {
              actions.setFloat(undefined);
              actions.addPicked(what, float);
            }}
            onConnect={(way) => {
              actions.setFloat(undefined);
              actions.connect(way.connection);
            }}
          />
        ) : null}
      </Suspense>
    </section>
  );
}
