import type { Connection, FinalConnectionState } from "@xyflow/react";
import type { Mark } from "../compare/ChangeBadge";
import type { Catalogue } from "../model/catalogue";
import type { Doc, Spot } from "../model/document";
import type { Problem } from "../model/problems";

export type CanvasProps = {
  doc: Doc;
  catalogue: Catalogue;
  problems: Map<string, Problem[]>;
  marks?: Map<string, Mark>;
  /** What it is compared with: what is gone is drawn too. */
  before?: Doc;
  chosen: Set<string>;
  chosenEdges: Set<string>;
  onChoose: (nodes: Set<string>, edges: Set<string>) => void;
  onMove: (spots: Map<string, Spot>) => void;
  onConnect: (connection: Connection) => void;
  /** Why a connection cannot be made; null when it can. */
  judge: (connection: Connection) => string | null;
  /** A connection was let go where nothing takes it. */
  onLoose: (state: FinalConnectionState, event: MouseEvent | TouchEvent, why?: string) => void;
  onDragPort: (source: { node: string; handle: string } | null) => void;
  onDrop: (what: string, at: Spot) => void;
  onComment: (index: number, text: string) => void;
  onTidy: () => void;
};
