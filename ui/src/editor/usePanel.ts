import { useRef } from "react";
import { type Comparison, compareText, type PipelineSearch, type Tab } from "./pipelineSearch";

type Address = Pick<PipelineSearch, "panel" | "compare"> & {
  onAddress: (next: Pick<PipelineSearch, "panel" | "compare">) => void;
};

/** What is open below and beside the canvas, as the address says. */
export function usePanel({ panel, compare, onAddress }: Address) {
  const last = useRef<{ tab: Tab; compare?: string }>({ tab: "problems" });
  // The history lies over the panel, which stays as it was, with what it compares.
  if (panel && panel !== "history") last.current = { tab: panel, compare };
  const { tab } = last.current;
  const show = (next: Tab) => onAddress({ panel: next, compare: undefined });
  return {
    tab,
    compare,
    /** What the panel compares, also while the history lies over it. */
    compared: last.current.compare,
    history: panel === "history",
    show,
    close: () => onAddress({ panel: tab, compare: last.current.compare }),
    openHistory: (compared?: Comparison) =>
      onAddress({ panel: "history", compare: compared && compareText(compared) }),
    /** The draft against a version, on the canvas. */
    against: (version: number) =>
      onAddress({ panel: "changes", compare: compareText({ from: version, to: "draft" }) }),
  };
}

export type Panels = ReturnType<typeof usePanel>;
