import { lazy, Suspense, useEffect, useMemo, useRef } from "react";
import type { Schemas, Step } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { loadChunk } from "@/components/loadChunk";
import { useNarrow } from "@/components/Shell";
import { Time } from "@/components/Time";
import { VersionUsers } from "@/editor/compare/VersionUsers";
import { versionTexts } from "@/editor/compare/versionTexts";
import { editorTexts } from "@/editor/editorTexts";
import { containerOf, kindOf } from "@/editor/model/document";
import { readTexts } from "@/editor/readTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { StepNode } from "../deployment/StepNode";
import { useReasonNotAdmin } from "../shell/usePermissionReason";
import { StepDetail } from "./StepDetail";

const Graph = lazy(() =>
  loadChunk(() => import("../deployment/Graph")).then((module) => ({ default: module.Graph })),
);
const t = readTexts;

type PipelineStep = Schemas["PipelineStep"];
type Props = {
  project: string;
  version: Schemas["PipelineVersion"];
  chosen?: string;
  onChoose: (step: string) => void;
};

/** The steps in the order they run, and all of the one that is chosen. */
export function ReadSteps({ project, version, chosen, onChoose }: Props) {
  const steps = useMemo(() => inOrder(version.pipeline), [version]);
  const selected = steps.find((step) => step.key === chosen);
  const side = useRef<HTMLElement>(null);
  const phone = useNarrow(720);
  useEffect(() => {
    // There the step is below the list, out of sight.
    if (phone && selected) side.current?.scrollIntoView({ block: "start" });
  }, [phone, selected]);
  return (
    <div className="runpage flex min-h-0 flex-1 flex-col">
      <div className="rg">
        <section className="gp" aria-label={pageTexts.graph}>
          <Drawn steps={steps} chosen={chosen} onChoose={onChoose} />
          <div className="gnote">
            {pageTexts.stepCount(steps.length)}. <Why />
          </div>
        </section>
        <section className="lp" ref={side} aria-label={selected?.key ?? t.overview}>
          {selected ? (
            <StepDetail step={selected} />
          ) : (
            <Overview project={project} version={version} />
          )}
        </section>
      </div>
    </div>
  );
}

/** Why it is only read here. */
function Why() {
  return useReasonNotAdmin() ? t.readOnly : t.wider;
}

type DrawnProps = Pick<Props, "chosen" | "onChoose"> & { steps: PipelineStep[] };

function Drawn({ steps, chosen, onChoose }: DrawnProps) {
  const narrow = useNarrow(1180);
  const drawn = useMemo(() => steps.map(asStep), [steps]);
  if (!narrow)
    return (
      <Suspense fallback={<div className="gcv" />}>
        <Graph steps={drawn} progress={{}} selected={chosen} onSelect={onChoose} />
      </Suspense>
    );
  return (
    <div className="steps">
      {drawn.map((step) => (
        <StepNode key={step.key} step={step} selected={step.key === chosen} onSelect={onChoose} />
      ))}
    </div>
  );
}

/** What there is to know besides the steps. */
function Overview({ project, version }: Pick<Props, "project" | "version">) {
  const comments = version.pipeline.comments ?? [];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <div className="pane" tabIndex={0}>
      <p className="t2">{editorTexts.step.none}</p>
      <h2 className="pt-4">v{version.version}</h2>
      <p className="t2">
        {t.published} <Time at={version.created_at} /> {versionTexts.by} {version.created_by}
      </p>
      {version.note ? (
        <p className="whitespace-pre-wrap">
          <BidiSafe text={version.note} />
        </p>
      ) : null}
      {comments.length > 0 ? <h2 className="pt-4">{t.comments}</h2> : null}
      {comments.map((comment, i) => (
        <p key={i} className="note mt-2 whitespace-pre-wrap">
          <BidiSafe text={comment.steps ? t.group(comment.text, comment.steps) : comment.text} />
        </p>
      ))}
      <h2 className="pt-4">{editorTexts.panel.users}</h2>
      <VersionUsers project={project} />
    </div>
  );
}

function inOrder(pipeline: Schemas["Pipeline"]): PipelineStep[] {
  const by = new Map(pipeline.steps.map((step) => [step.key, step]));
  const order = pipeline.order ?? [...by.keys()];
  return order.flatMap((key) => by.get(key) ?? []);
}

/** A step of a pipeline as the run view draws one that has not begun. */
function asStep(step: PipelineStep, at: number): Step {
  const image = containerOf(step)?.image ?? step.plugin?.image;
  const version = image?.tag ?? image?.pattern;
  const name =
    containerOf(step)?.name ?? step.plugin?.name ?? pageTexts[step.script ? "script" : "approval"];
  return {
    run: 0,
    key: step.key,
    position: at + 1,
    kind: kindOf(step),
    title: [name, version].filter(Boolean).join(" "),
    needs: step.needs ?? [],
    status: "pending",
    lines: 0,
  };
}
