import { lazy, Suspense } from "react";
import { loadChunk } from "@/components/loadChunk";
import type { Comparing } from "./compare/useComparison";
import type { Doc } from "./model/document";
import { compareOf } from "./pipelineSearch";
import type { State } from "./session/drawing";
import type { useSheets } from "./session/useSheets";
import type { Panels } from "./usePanel";

const Merge = lazy(() =>
  loadChunk(() => import("./compare/MergeSheet")).then((one) => ({ default: one.MergeSheet })),
);
const Versions = lazy(() =>
  loadChunk(() => import("./compare/Versions")).then((one) => ({ default: one.Versions })),
);
const Discard = lazy(() =>
  loadChunk(() => import("./compare/DiscardDialog")).then((one) => ({
    default: one.DiscardDialog,
  })),
);
const PublishNote = lazy(() =>
  loadChunk(() => import("./session/PublishNote")).then((one) => ({ default: one.PublishNote })),
);

type Props = {
  project: string;
  state: State;
  comparing: Comparing;
  panels: Panels;
  sheets: ReturnType<typeof useSheets>;
  /** Why it cannot be published now. */
  whyNot?: string;
  onOpen: (doc: Doc) => void;
};

/** What lies over the editor: the history, and questions. */
export function Sheets(props: Props) {
  const { project, state, comparing, panels, sheets, whyNot, onOpen } = props;
  const { sheet, close, publish } = sheets;
  const doc = state.history.now;
  return (
    <Suspense>
      {panels.history ? (
        <Versions
          project={project}
          compare={compareOf(panels.compare)}
          onCompare={panels.openHistory}
          onClose={panels.close}
          drawing={{
            doc: comparing.whole,
            differs: comparing.differs,
            onRestored: sheets.restored,
            onOpen,
            onCanvas: panels.against,
          }}
        />
      ) : null}
      {sheet === "merge" && state.clash ? (
        <Merge clash={state.clash} doc={doc} onClose={close} onResolve={sheets.resolve} />
      ) : null}
      {sheet === "discard" ? (
        <Discard
          lost={comparing.drawn()}
          version={state.base}
          onClose={close}
          onDiscard={() => void sheets.discard()}
        />
      ) : null}
      {sheet === "note" ? (
        <PublishNote
          version={state.base + 1}
          whyNot={whyNot}
          publishing={sheets.publishing}
          note={sheets.note}
          onNote={sheets.setNote}
          onClose={close}
          onPublish={(note) => void publish(note)}
        />
      ) : null}
    </Suspense>
  );
}
