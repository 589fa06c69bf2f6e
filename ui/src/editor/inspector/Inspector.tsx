import { PanelRightClose, SlidersHorizontal } from "lucide-react";
import { lazy, memo, Suspense } from "react";
import { Button } from "@/components/Button";
import { loadChunk } from "@/components/loadChunk";
import { Skeletons } from "@/components/States";
import { editorTexts } from "@/editor/editorTexts";
import type { Step } from "../model/document";
import type { InspectorPartProps } from "./inspectorProps";

const InputSettings = lazy(() => loadChunk(() => import("./InputSettings")));
const loadStepInspector = () => loadChunk(() => import("./StepInspector"));
const StepInspector = lazy(loadStepInspector);
const t = editorTexts;

type InspectorProps = InspectorPartProps & {
  turn: number;
  step?: Step;
  count: number;
  /** Whether the pipeline's own settings are shown while no step is chosen. */
  about: boolean;
  onAbout: (open: boolean) => void;
};

/** Beside the canvas: the chosen step, or, when none is, a rail that opens the pipeline's settings. */
export const Inspector = memo(function Inspector(props: InspectorProps) {
  const { step, count } = props;
  if (step)
    return (
      <Suspense fallback={<Loading label={step.key} />}>
        {/* Not keyed by name: the user can keep typing when the step is renamed. */}
        <StepInspector key={props.turn} {...props} step={step} />
      </Suspense>
    );
  if (count > 1)
    return (
      <aside className="insp" aria-label={t.step.many(count)}>
        <div className="ib t3">
          <b>{t.step.many(count)}</b>
          <span>{t.step.manyHint}</span>
        </div>
      </aside>
    );
  return props.about ? <About {...props} /> : <Rail onOpen={() => props.onAbout(true)} />;
});

/** Loads what a chosen step needs before one is chosen. */
export function preloadInspector() {
  void loadStepInspector();
}

function Loading({ label }: { label: string }) {
  return (
    <aside className="insp" aria-label={label}>
      <div className="ib">
        <Skeletons count={4} height={52} />
      </div>
    </aside>
  );
}

function Rail({ onOpen }: { onOpen: () => void }) {
  return (
    <aside className="insp folded" aria-label={t.about.label}>
      <Button look="ghost" icon aria-label={t.about.open} title={t.about.open} onClick={onOpen}>
        <SlidersHorizontal className="i" aria-hidden="true" />
      </Button>
    </aside>
  );
}

function About(props: InspectorProps) {
  return (
    <aside className="insp" aria-label={t.about.label}>
      <div className="ih">
        <div className="row">
          <h2 className="grow">{t.about.label}</h2>
          <Button
            look="ghost"
            small
            icon
            aria-label={t.about.close}
            title={t.about.close}
            onClick={() => props.onAbout(false)}
          >
            <PanelRightClose className="i sm" aria-hidden="true" />
          </Button>
        </div>
      </div>
      <div className="ib t3">
        <span>{t.step.none}</span>
        <span className="s">{t.canvasHint}</span>
        <Suspense fallback={<Skeletons count={3} height={52} />}>
          <InputSettings {...props} />
        </Suspense>
      </div>
    </aside>
  );
}
