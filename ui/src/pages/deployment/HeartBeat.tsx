import type { Step } from "@/api/client";
import { SIGNS } from "@/api/run";
import { useNow } from "@/components/Time";
import { between, duration } from "@/components/time";
import { texts } from "@/texts";

const t = texts.page;
/** So many bars stand for the time in which signs are kept. */
const BARS = 15;

export type Pace = { kind: "usual" | "slow" | "silent"; over: number; quiet: number };

/**
 * Slow or stuck: a step over its usual time that still says or pulls something is slow; one that
 * has been silent for as long as signs are kept may be stuck. `quiet` is since its last sign.
 */
export function paceOf(step: Step, signs: number[], now: number): Pace {
  const spent = between(step.started_at, step.ended_at, now);
  const over = step.usual_seconds ? spent - step.usual_seconds * 1000 : Number.NaN;
  const last = signs[signs.length - 1] ?? now - spent;
  const quiet = Math.max(0, now - last);
  const late = over > 2000 && over > spent / 4;
  if (quiet >= SIGNS && (late || !step.usual_seconds)) return { kind: "silent", over, quiet };
  return { kind: late ? "slow" : "usual", over, quiet };
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
      <span className="xs t2 tr">{say(pace)}</span>
    </span>
  );
}

function say({ kind, over, quiet }: Pace): string {
  if (kind === "silent") return t.silent(duration(quiet));
  if (kind === "slow") return t.slow(duration(over));
  return quiet < 10_000 ? t.alive : t.quiet(duration(quiet));
}
