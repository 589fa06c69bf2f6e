import type { ReactNode } from "react";
import type { Catalogue } from "./model/catalogue";
import type { PipelineSearch } from "./pipelineSearch";
import type { Session } from "./session/session";

export type EditorProps = {
  project: string;
  chosen?: string;
  onChoose: (step: string | undefined) => void;
  /** What else the address says is open. */
  panel?: PipelineSearch["panel"];
  compare?: string;
  onAddress: (next: Pick<PipelineSearch, "panel" | "compare">) => void;
  /** Shown while there is no room to draw. */
  instead?: ReactNode;
};

/** Once the draft and the catalogue are there. */
export type LoadedProps = EditorProps & { session: Session; catalogue: Catalogue };
