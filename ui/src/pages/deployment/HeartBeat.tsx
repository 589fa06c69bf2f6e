import type { Step } from "@/api/client";
import { SIGNS } from "@/api/run";
import { useNow } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { elapsedTime } from "./elapsedTime";

const t = pageTexts;
/** So many bars stand for the time in which signs are kept. */
const BARS = 15;

export type Pace = { kind: "usual" | "slow" | "silent"; over: number; quiet: number };

/**
 * Slow or stuck: a step over its usual time that still says or pulls something is slow; one that
 * has been silent for as long as signs are kept may be stuck. A pull tells what came by the second,
 * so its silence means that at any time. `quiet` is since its last sign.
 */
export function paceOf(step: Step, signs: number[], now: number): Pace {
  const spent = elapsedTime(step, now);
  const over = step.usual_seconds ? spent - step.usual_seconds * 1000 : Number.NaN;
  const since = now - (signs[signs.length - 1] ?? Number.NaN);
  // What was pulled ahead was silent until its turn came.
  const quiet = Math.max(0, minOf(since, spent));
  const late = over > 2000 && over > spent / 4;
  const any = step.status === "pulling" || !step.usual_seconds;
  if (quiet >= SIGNS && (late || any)) return { kind: "silent", over, quiet };
  return { kind: late ? "slow" : "usual", over, quiet };
}

function minOf(a: number, b: number): number {
  return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b);
}

/** The signs of life of the last half minute as bars, and in words what they say. */
export function HeartBeat({ step, signs = [] }: { step: Step; signs?: number[] }) {
  const now = Math.max(useNow(), signs[signs.length - 1] ?? 0);
  const pace = paceOf(step, signs, now);
  const width = SIGNS / BARS;
  const bars = Array.from({ length: BARS }, (_, i) => {
    const from = now - SIGNS + i * width;
    return signs.some((at) => at > from && at <= from + width);
  });
  return (
    <span className="hb" data-pace={pace.kind}>
      <span className="beats" aria-hidden="true">
        {bars.map((beat, i) => (
          <i key={i} data-on={beat || undefined} />
        ))}
      </span>
      <span className="xs t2 tr">{describePace(pace, step)}</span>
    </span>
  );
}

function describePace({ kind, over, quiet }: Pace, step: Step): string {
  if (kind === "silent") return t.silent(formatDuration(quiet));
  // Its output is a log of its own; while it runs here, it is asked whether it is ready.
  const service = step.kind === "service" && step.status === "running";
  if (kind === "slow") return t.slow(formatDuration(over), service ? t.checked : t.aliveToo);
  if (quiet >= 10_000) return t.quiet(formatDuration(quiet));
  return service ? t.checking : t.alive;
}
