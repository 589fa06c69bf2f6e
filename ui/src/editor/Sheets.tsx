import { lazy, Suspense } from "react";
import { load } from "@/components/load";
import { compareOf } from "@/pages/projects/search";
import type { Choices } from "./merge";
import type { Doc } from "./model";
import type { State } from "./session";
import type { Comparing } from "./useComparison";
import type { Panels } from "./usePanel";

const Merge = lazy(() => load(() => import("./Merge")).then((one) => ({ default: one.Merge })));
const Versions = lazy(() =>
  load(() => import("./Versions")).then((one) => ({ default: one.Versions })),
);
const Discard = lazy(() =>
  load(() => import("./Discard")).then((one) => ({ default: one.Discard })),
);
const PublishNote = lazy(() =>
  load(() => import("./PublishNote")).then((one) => ({ default: one.PublishNote })),
);

export type SheetName = "merge" | "discard" | "note";

type Props = {
  project: string;
  state: State;
  comparing: Comparing;
  panels: Panels;
  sheet?: SheetName;
  /** Why it cannot be published now. */
  whyNot?: string;
  onClose: () => void;
  onRestored: () => void;
  onOpen: (doc: Doc) => void;
  onResolve: (choices: Choices) => void;
  onDiscard: () => void;
  onPublish: (note?: string) => void;
};

/** What lies over the editor: the history, and questions. */
export function Sheets({ project, state, comparing, panels, sheet, whyNot, ...on }: Props) {
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
            doc,
            differs: comparing.differs,
            onRestored: on.onRestored,
            onOpen: on.onOpen,
            onCanvas: panels.against,
          }}
        />
      ) : null}
      {sheet === "merge" && state.clash ? (
        <Merge clash={state.clash} doc={doc} onClose={on.onClose} onResolve={on.onResolve} />
      ) : null}
      {sheet === "discard" ? (
        <Discard
          lost={comparing.own}
          version={state.base}
          onClose={on.onClose}
          onDiscard={on.onDiscard}
        />
      ) : null}
      {sheet === "note" ? (
        <PublishNote
          version={state.base + 1}
          whyNot={whyNot}
          onClose={on.onClose}
          onPublish={on.onPublish}
        />
      ) : null}
    </Suspense>
  );
}
