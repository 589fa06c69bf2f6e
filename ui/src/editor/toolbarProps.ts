import type { State } from "./session/drawing";

export type ToolbarProps = {
  project: string;
  state: State;
  changes: number;
  differs: boolean;
  whyNot?: string;
  publishing: boolean;
  onUndo: () => void;
  onRedo: () => void;
  onVersions: () => void;
  onChanges: () => void;
  onDryRun: () => void;
  onDiscard: () => void;
  onExport: () => void;
  onMerge: () => void;
  onFollow: () => void;
  onPublish: () => void;
  onNote: () => void;
};
