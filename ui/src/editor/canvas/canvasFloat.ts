import type { ReactNode } from "react";
import type { Spot } from "../model/document";
import type { PortEnd, StepConnection } from "./stepConnections";

/** One act of a context menu; a line stands above the first of a group. */
export type MenuAct = {
  label: string;
  icon?: ReactNode;
  keys?: string;
  begins?: boolean;
  run: () => void;
};

/** What lies over the canvas for a moment; `at` is its place in the window. */
export type CanvasFloat =
  /** What can be added: at this place of the drawing, and connected with the port it came from. */
  | { kind: "picker"; at: Spot; middle?: Spot; from?: PortEnd }
  /** Which field a dropped line is meant for. */
  | { kind: "fields"; at: Spot; step: string; ways: StepConnection[] }
  | { kind: "menu"; at: Spot; label: string; target: MenuTarget };

/** What was pressed with the other button, or by the menu key. */
export type MenuTarget =
  | { kind: "canvas" }
  | { kind: "item"; ids: Set<string> }
  | { kind: "line"; id: string };
