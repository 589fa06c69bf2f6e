import type { Catalogue } from "../model/catalogue";
import type { Step } from "../model/document";
import type { Session } from "../session/session";

/** What is edited and chosen, for whatever acts on the canvas. */
export type CanvasContext = {
  session: Session;
  catalogue: Catalogue;
  /** The step that the inspector shows. */
  step: Step | undefined;
  chosen: Set<string>;
  chosenEdges: Set<string>;
  choose: (nodes: Set<string>, edges: Set<string>) => void;
};
