import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { compareOf, type Tab } from "@/pages/projects/search";
import { asidesOf } from "./asides";
import type { Mark } from "./canvasNodes";
import type { Catalogue } from "./catalogue";
import { filled, versionChanges } from "./catalogued";
import { drawnAs } from "./door";
import type { State } from "./drawing";
import type { Dry } from "./dryFindings";
import { changesOf, threeWay } from "./merge";
import { type Doc, sameDoc } from "./model";

type What = {
  project: string;
  state: State;
  tab: Tab;
  compare?: string;
  dry?: Dry;
  catalogue: Catalogue;
};

/** How the drawing differs from the version it was drawn on, and from the one it is compared with. */
export function useComparison({ project, state, tab, compare, dry, catalogue }: What) {
  const { published, base, clash } = state;
  const doc = state.history.now;
  const wanted = compareOf(compare);
  const number = tab === "changes" && wanted?.to === "draft" ? wanted.from : base;
  const other = useQuery({ ...drawnAs(project, number), enabled: number !== base });
  // What is drawn knows nothing of images: what the version carries is asked of the server.
  const stored = useQuery({ ...drawnAs(project, base), enabled: base > 0 }).data;
  const before = number === base ? (stored ?? published) : other.data;
  const own = useDifference(stored ?? published, doc, stored && catalogue);
  const shown = useDifference(before, doc, before === published ? undefined : catalogue);
  const differs = useMemo(() => !sameDoc(published, doc), [published, doc]);
  const marks = useMemo(() => {
    const all = new Map<string, Mark>();
    if (dry) for (const key of dry.passed) all.set(key, "passes");
    else if (tab === "changes")
      for (const { key, kind } of shown?.changes ?? []) all.set(key, kind);
    if (clash)
      for (const { key } of threeWay(clash.base, doc, clash.theirs).conflicts)
        all.set(key, "clash");
    return all.size > 0 ? all : undefined;
  }, [dry, tab, shown, clash, doc]);
  const query = { error: other.error, retry: () => void other.refetch() };
  return { own, differs, marks, number, before, shown, ...query };
}

export type Comparing = ReturnType<typeof useComparison>;

type With = Catalogue | undefined;

function useDifference(before: Doc, doc: Doc, catalogue: With): Difference;
function useDifference(before: Doc | undefined, doc: Doc, catalogue: With): Difference | undefined;
function useDifference(before: Doc | undefined, doc: Doc, catalogue: With) {
  return useMemo(() => {
    if (!before) return undefined;
    const changes = catalogue
      ? versionChanges(before, filled(doc, catalogue))
      : changesOf(before, doc);
    return { changes, asides: asidesOf(before, doc) };
  }, [before, doc, catalogue]);
}

export type Difference = {
  changes: ReturnType<typeof changesOf>;
  asides: ReturnType<typeof asidesOf>;
};
