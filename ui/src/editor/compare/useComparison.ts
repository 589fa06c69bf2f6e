import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Catalogue } from "../model/catalogue";
import { type Doc, docOf, pipelineOf, sameDoc } from "../model/document";
import { type StepChange, threeWay } from "../model/merge";
import { compareOf, type Tab } from "../pipelineSearch";
import { versionDocument } from "../session/draftApi";
import type { State } from "../session/drawing";
import type { DryRunResult } from "../session/dryFindings";
import type { Mark } from "./ChangeBadge";
import { versionChanges, withCatalogueCopy } from "./catalogueCopy";
import { diffLayout } from "./layoutDiff";

type What = {
  project: string;
  state: State;
  tab: Tab;
  compare?: string;
  dry?: DryRunResult;
  catalogue: Catalogue;
  /** What the server says: whether publishing would make a version. */
  changes?: boolean;
};

/** How the drawing differs from the version it was drawn on, and from the one it is compared with. */
export function useComparison({ project, state, tab, compare, dry, catalogue, changes }: What) {
  const { published, base, clash } = state;
  const doc = state.history.now;
  const wanted = compareOf(compare);
  const number = tab === "changes" && wanted?.to === "draft" ? wanted.from : base;
  const other = useQuery({ ...versionDocument(project, number), enabled: number !== base });
  // What is drawn knows nothing of images: what the version carries is asked of the server.
  const version = useQuery({ ...versionDocument(project, base), enabled: base > 0 }).data;
  const stored = changes === false ? undefined : version;
  const whole = useMemo(() => withCatalogueCopy(doc, catalogue), [doc, catalogue]);
  const [was, is] = useMemo(() => [drawnOf(published), drawnOf(doc)], [published, doc]);
  const before = number === base ? (stored ?? was) : other.data;
  const own = useDifference(stored ?? was, stored ? whole : is);
  const shown = useDifference(before, before === was ? is : whole);
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
  // What the catalogue changed is not thrown away with a draft.
  const drawn = () => differenceOf(was, is);
  const query = { error: other.error, retry: () => void other.refetch() };
  return { own, differs, marks, number, before, shown, whole, drawn, ...query };
}

/** A drawing without what it may carry of an older catalogue. */
function drawnOf(doc: Doc): Doc {
  return docOf(pipelineOf(doc));
}

export type Comparing = ReturnType<typeof useComparison>;

function useDifference(before: Doc, now: Doc): Difference;
function useDifference(before: Doc | undefined, now: Doc): Difference | undefined;
function useDifference(before: Doc | undefined, now: Doc) {
  return useMemo(() => before && differenceOf(before, now), [before, now]);
}

function differenceOf(before: Doc, now: Doc): Difference {
  return { changes: versionChanges(before, now), asides: diffLayout(before, now) };
}

export type Difference = {
  changes: StepChange[];
  asides: ReturnType<typeof diffLayout>;
};
