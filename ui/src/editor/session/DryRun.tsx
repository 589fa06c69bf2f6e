import { lazy, Suspense, useMemo } from "react";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { ErrorState } from "@/components/States";
import { InputFields } from "@/forms/InputFields";
import { inputBody } from "@/forms/inputValues";
import type { Catalogue } from "../model/catalogue";
import { containerOf, type Doc } from "../model/document";
import { Checks, SetMissing } from "./DryRunChecks";
import { type DryRunResult, hasSameRun } from "./dryFindings";
import { dryTexts } from "./dryTexts";
import { Before, Results } from "./RunHere";
import type { DryRuns } from "./useDryRun";

const d = dryTexts;
const NOTHING = {};
// Half as large as the editor, and seldom opened.
const TagPicker = lazy(() =>
  loadChunk(async () => ({ default: (await import("@/components/TagPicker")).TagPicker })),
);

export type DryRunProps = {
  project: string;
  base: number;
  catalogue: Catalogue;
  doc: Doc;
  /** The step that is chosen alone. */
  only?: string;
  dry?: DryRunResult;
  runs: DryRuns;
  onShow: (step: string, field?: string) => void;
};

/** The same checks as creating makes, of what is drawn now. And a branch of it, run for real. */
export function DryRun(props: DryRunProps) {
  const { project, base, catalogue, doc, only, dry, runs, onShow } = props;
  const { environment = "", environments, check, branch } = runs;
  const whyNot = environment ? undefined : environments.isPending ? d.waits : d.none;
  const fresh = useMemo(() => dry !== undefined && hasSameRun(dry.doc, doc), [dry, doc]);
  const input = inputBody(doc.input ?? [], runs.typed, NOTHING);
  const run = () => check.mutate({ doc, environment, input });
  const start = () => only && branch.mutate({ doc, environment, step: only, input });
  return (
    <div className="p-4 flex flex-col gap-2">
      <div className="row wrap">
        <Environments runs={runs} />
        <Button
          act={d.run}
          small
          reason={doc.steps.length === 0 ? d.emptyDraft : whyNot}
          busy={check.isPending && d.busy}
          onClick={run}
        >
          {d.run}
        </Button>
        <Button
          act={only ? d.branchOf(only) : d.branch}
          small
          reason={branchReason(base, only) ?? whyNot}
          busy={branch.isPending && d.starting}
          onClick={start}
        >
          {only ? d.branchOf(only) : d.branch}
        </Button>
        <span className="t3 s">{d.hint}</span>
      </div>
      <Tags doc={doc} runs={runs} />
      <InputFields fields={doc.input ?? []} typed={runs.typed} begun={NOTHING} set={runs.type} />
      {only && base > 0 ? <Before {...{ project, doc, catalogue, runs, only }} /> : null}
      {branch.isError ? (
        <>
          <ErrorState what={d.branchRefused} error={branch.error} retry={() => start()} />
          <SetMissing error={branch.error} />
        </>
      ) : null}
      <Results doc={doc} runs={runs} />
      {check.isError ? <ErrorState what={d.unread} error={check.error} retry={run} /> : null}
      {dry && !fresh && !check.isPending ? (
        <p className="t2" role="status">
          {d.stale}
        </p>
      ) : null}
      {dry && fresh ? <Checks dry={dry} onShow={onShow} /> : null}
    </div>
  );
}

function Environments({ runs }: { runs: DryRuns }) {
  return (
    <label className="row s">
      {d.environment}
      <select
        className="sel"
        value={runs.environment ?? ""}
        onChange={(event) => runs.choose(event.target.value)}
      >
        {(runs.environments.data ?? []).map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
      </select>
    </label>
  );
}

/** The version of each service whose version people choose, where the usual one is not wanted. */
function Tags({ doc, runs }: { doc: Doc; runs: DryRuns }) {
  const { selectable, tags, pick } = runs;
  const open = doc.steps.flatMap((step) => {
    const service = containerOf(step)?.name ?? "";
    return selectable(service) ? [{ key: step.key, service }] : [];
  });
  if (open.length === 0) return null;
  const chosen = open.filter((step) => tags.has(step.key)).length;
  return (
    <details>
      <summary className="s t2">{d.versions(chosen)}</summary>
      <div className="drytags">
        {open.map(({ key, service }) => (
          <div key={key} className="row">
            <span className="tr mono">{key}</span>
            <Suspense fallback={<div className="in" aria-busy="true" />}>
              <TagPicker
                service={service}
                step={key}
                value={tags.get(key) ?? ""}
                onChange={(tag) => pick(key, tag)}
              />
            </Suspense>
            {tags.has(key) ? (
              <Button look="ghost" small onClick={() => pick(key, undefined)}>
                {d.usual}
              </Button>
            ) : null}
          </div>
        ))}
      </div>
    </details>
  );
}

function branchReason(base: number, only?: string): string | undefined {
  if (base === 0) return d.unpublished;
  return only ? undefined : d.branchChoose;
}
