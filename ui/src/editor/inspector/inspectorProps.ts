import type { Catalogue } from "../model/catalogue";
import type { Doc, Step } from "../model/document";
import type { Samples } from "../model/environment";
import type { ServiceImages } from "../model/imageAdvice";
import type { Problem } from "../model/problems";
import type { UnparsedInputs } from "../session/unparsedInputs";

/** What is done in the inspector. */
export type InspectorActions = {
  /** Changes the chosen step in several fields at once. */
  onStep: (change: (step: Step) => Step) => void;
  onChange: (path: string, value: unknown) => void;
  onKind: (kind: "service" | "job") => void;
  onRename: (from: string, to: string) => void;
  onNeed: (from: string, to: string) => void;
  onLetGo: (from: string, to: string) => void;
};

/** What every part of the inspector is given. */
export type InspectorPartProps = InspectorActions & {
  doc: Doc;
  catalogue: Catalogue;
  /** Those of the chosen step. */
  problems: Problem[];
  sample: Samples;
  images: ServiceImages;
  unread: UnparsedInputs;
};
