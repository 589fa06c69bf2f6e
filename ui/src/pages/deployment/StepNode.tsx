import "./run.css";
import { memo } from "react";
import type { Progress, Step } from "@/api/client";
import { isPulling } from "@/api/run";
import { Glyph } from "@/components/Glyph";
import { splitEnd } from "@/components/names";
import { formatBytes } from "@/components/quantity";
import { lookOf, Rail, stateWord } from "@/components/Status";
import { useNow } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { elapsedTime } from "./elapsedTime";
import { HeartBeat, paceOf } from "./HeartBeat";
import { Cleanup } from "./OutcomeMark";
import { outcomeOf } from "./outcome";

const t = pageTexts;

type Props = {
  step: Step;
  progress?: Progress;
  signs?: number[];
  selected: boolean;
  onSelect: (key: string) => void;
  height?: number;
};

/** One step of the run: shape, name, what it is, how long it took against the usual. */
export const StepNode = memo(function StepNode({
  step,
  progress,
  signs,
  selected,
  onSelect,
  height,
}: Props) {
  const { state, cleanup } = outcomeOf(step);
  return (
    <button
      type="button"
      className="sn nodrag nopan"
      data-st={lookOf(state)}
      data-step={step.key}
      aria-pressed={selected}
      style={height ? { height } : undefined}
      onClick={() => onSelect(step.key)}
    >
      <Rail state={state} />
      <Glyph state={state} />
      <span className="col">
        <span className="ti tr" title={step.key}>
          {step.key}
          <span className="no">{step.position}</span>
          <span className="vh">, {stateWord(state)}</span>
        </span>
        <Title text={step.title} />
      </span>
      <Took step={step} progress={progress} cleanup={cleanup} />
      {isMoving(step) || isPulling(step, progress) ? (
        <Life step={step} progress={progress} signs={signs} />
      ) : null}
    </button>
  );
});

/** Whatever the room, its last characters are shown: tags differ at their end. */
function Title({ text }: { text: string }) {
  const [head, tail] = splitEnd(text);
  return (
    <span className="ki row gap-0" title={text}>
      <span className="tr whitespace-pre">{head}</span>
      <span className="shrink-0 whitespace-pre">{tail}</span>
    </span>
  );
}

function isMoving(step: Step): boolean {
  return step.status === "pulling" || step.status === "running";
}

type TookProps = { step: Step; progress?: Progress; cleanup?: string };

function Took({ step, progress, cleanup }: TookProps) {
  const now = useNow();
  const usual = step.usual_seconds ? t.usual(formatDuration(step.usual_seconds * 1000)) : "";
  if (isPulling(step, progress) && progress?.pulled_bytes)
    return (
      <span className="du">
        <b>{formatBytes(progress.pulled_bytes)}</b>
        <span className="t3">
          {progress.total_bytes ? t.ofAll(formatBytes(progress.total_bytes)) : ""}
        </span>
      </span>
    );
  const word = ["undone", "skipped", "unknown"].includes(step.status) ? stateWord(step.status) : "";
  const spent = formatDuration(elapsedTime(step, now));
  // Of a first run, the usual time is this one: said twice, it would tell nothing.
  const differs = usual !== t.usual(spent);
  if (cleanup)
    return (
      <span className="du">
        <Cleanup state={cleanup} />
        <span className="t3 block">{spent}</span>
      </span>
    );
  return (
    <span className="du">
      {word || spent ? <b>{word || spent}</b> : null}
      <span className="t3">{word ? spent : differs ? usual : ""}</span>
    </span>
  );
}

/**
 * Signs of life of a step that runs now: what it pulled, or when it last said something. A pull of
 * which nothing comes says so in place of its bar.
 */
function Life({ step, progress, signs }: { step: Step; progress?: Progress; signs?: number[] }) {
  const now = useNow();
  const pulls = isPulling(step, progress);
  if (pulls && paceOf(step, signs ?? [], now).kind !== "silent") return <Pulled {...progress} />;
  return (
    <span className="x">
      <HeartBeat step={step} signs={signs} />
    </span>
  );
}

function Pulled({ pulled_bytes = 0, total_bytes, pulled_layers, total_layers }: Partial<Progress>) {
  const share = total_bytes ? pulled_bytes / total_bytes : 0;
  const layers = total_layers ? t.layers(pulled_layers ?? 0, total_layers) : undefined;
  return (
    <span className="x" title={layers}>
      {layers ? <span className="vh">{layers}</span> : null}
      <span className="bar">
        <i style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
    </span>
  );
}
