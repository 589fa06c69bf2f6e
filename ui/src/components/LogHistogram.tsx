import { useState } from "react";
import { logTexts as t } from "@/components/logTexts";
import { barPath, type LogBins } from "./logHistogram";
import { formatClockSeconds } from "./time";

/** How high the bars are, in px. */
const HEIGHT = 20;

type Props = {
  bins: LogBins;
  /** The stretch of the first line in sight. */
  at: number;
  /** How many stretches are in sight. */
  wide: number;
  /** Leads to the first line of a stretch. */
  go: (bin: number) => void;
};

/** When lines were written, and which of those times is in sight. Dragged or by arrow keys, it leads through time. */
export function LogHistogram({ bins, at, wide, go }: Props) {
  const [over, setOver] = useState<number>();
  const count = bins.all.length;
  const most = Math.max(...bins.all);
  const said = sayBin(bins, over ?? at);
  return (
    <div className="lh" title={said}>
      <svg viewBox={`0 0 ${count} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <rect className="lh-in" x={at} width={Math.max(1, wide)} height={HEIGHT} />
        <path className="lh-all" d={barPath(bins.all, most, HEIGHT)} />
        <path className="lh-hit" d={barPath(bins.hits, most, HEIGHT)} />
        <path className="lh-err" d={barPath(bins.errors, most, HEIGHT)} />
      </svg>
      <input
        type="range"
        min={0}
        max={count - 1}
        value={at}
        aria-label={t.histogram}
        aria-valuetext={sayBin(bins, at)}
        onChange={(event) => go(Number(event.target.value))}
        onKeyDown={(event) => {
          // Its value is the first already while later lines of that stretch are in sight.
          if (at === 0 && ["Home", "ArrowLeft", "ArrowDown", "PageDown"].includes(event.key)) go(0);
        }}
        onPointerMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect();
          setOver(Math.floor(((event.clientX - left) / width) * count));
        }}
        onPointerLeave={() => setOver(undefined)}
      />
    </div>
  );
}

/** "14:02:10, 120 lines, 3 errors". */
function sayBin(bins: LogBins, bin: number): string {
  const at = Math.min(bins.all.length - 1, Math.max(0, bin));
  const time = formatClockSeconds(new Date(bins.from + at * bins.span));
  return t.bin(time, bins.all[at] ?? 0, bins.errors[at] ?? 0);
}
