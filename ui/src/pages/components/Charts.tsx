import { lazy, Suspense } from "react";
import { loadChunk } from "@/components/loadChunk";
import { formatBytes } from "@/components/quantity";
import { Sparkline } from "@/components/Sparkline";
import { Skeletons } from "@/components/States";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Part, Shown } from "./Part";

const Chart = lazy(() => loadChunk(() => import("@/components/Chart")));

const to = Math.floor(Date.now() / 1000);
const from = to - 3600;
const times = Array.from({ length: 60 }, (_, i) => from + i * 60);
const wave = (by: number) =>
  times.map((_, i) => (i > 30 && i < 40 ? null : (1 + Math.sin(i / by)) * 2e8 + i * 2e6));

const lines = [
  { name: "web", curve: { times, values: wave(4) }, token: "--color-accent" },
  { name: "api", curve: { times, values: wave(7) }, token: "--color-st-ready" },
];

/** Curves, hatched where nothing is known; below a limit, and without a point. */
export function Charts() {
  const common = { from, to, format: formatBytes };
  const marks = [{ at: from + 2400, text: t.charts.mark }];
  return (
    <Part title={t.sections.charts}>
      <Suspense fallback={<Skeletons count={1} height={132} />}>
        <Shown name={t.charts.gap}>
          <Chart {...common} lines={lines} label={t.charts.gap} />
        </Shown>
        <Shown name={t.charts.limit}>
          <Chart
            {...common}
            lines={lines.slice(0, 1)}
            limit={{ value: 7e8, text: t.charts.limit }}
            marks={marks}
            label={t.charts.limit}
          />
        </Shown>
        <Shown name={t.charts.none}>
          <Chart {...common} lines={[]} label={t.charts.none} />
        </Shown>
      </Suspense>
      <div className="row gap-7">
        <Sparkline values={wave(4)} most={6e8} label={t.charts.spark} />
        <Sparkline values={[null, null]} most={1} label={t.charts.none} />
      </div>
    </Part>
  );
}
