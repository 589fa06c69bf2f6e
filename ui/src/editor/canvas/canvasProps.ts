import type { Connection } from "@xyflow/react";
import type { Step as RunStep } from "@/api/client";
import type { Mark } from "../compare/ChangeBadge";
import type { Catalogue } from "../model/catalogue";
import type { Doc, Spot } from "../model/document";
import type { Problem } from "../model/problems";
import type { PortEnd } from "./stepConnections";

export type CanvasProps = {
  doc: Doc;
  catalogue: Catalogue;
  problems: Map<string, Problem[]>;
  marks?: Map<string, Mark>;
  /** What came of steps when a branch ran. */
  results?: Map<string, RunStep>;
  /** What it is compared with: what is gone is drawn too. */
  before?: Doc;
  chosen: Set<string>;
  chosenEdges: Set<string>;
  onChoose: (nodes: Set<string>, edges: Set<string>) => void;
  onMove: (spots: Map<string, Spot>) => void;
  onConnect: (connection: Connection) => void;
  /** Why a connection cannot be made; null when it can. */
  judge: (connection: Connection) => string | null;
  /** A connection was let go on no port, or on one that does not take it. */
  onLoose: (event: MouseEvent | TouchEvent, why?: string) => void;
  onDragPort: (end: PortEnd | null) => void;
  /** An item of the palette was dropped, with its middle here. */
  onDrop: (what: string, middle: Spot) => void;
  onFile: (file: File) => void;
  /** Asks for a step to add: connected with a port, or at a place of the window. */
  onPlus: (end: PortEnd | undefined, at: Spot) => void;
  /** A context menu is asked for: of an item, of a line, or of the canvas. */
  onMenu: (of: { node?: string; line?: string }, at: Spot) => void;
  onComment: (index: number, text: string) => void;
  onTidy: () => void;
  onFind: () => void;
};
