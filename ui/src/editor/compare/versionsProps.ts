import type { Comparison } from "@/editor/pipelineSearch";
import type { Doc } from "../model/document";

export type VersionsProps = {
  project: string;
  compare?: Comparison;
  onCompare: (compare: Comparison | undefined) => void;
  onClose: () => void;
  /** What is drawn, and what can be done with a version: nothing of it for who only reads. */
  drawing?: {
    doc: Doc;
    /** Whether it differs from what is published. */
    differs: boolean;
    onRestored: () => void;
    onOpen: (doc: Doc) => void;
    /** Shows the draft against a version on the canvas. */
    onCanvas: (version: number) => void;
  };
};
