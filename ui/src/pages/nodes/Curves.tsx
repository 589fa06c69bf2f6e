import type { MetricPoint, Metrics } from "@/api/queries/usage";
import type { Mark } from "@/components/Chart";
import { Curves as Drawn, type Figure } from "@/components/Curves";
import { cpuFigure, diskFreeFigure, memoryFigure, networkFigure } from "@/components/figures";
import { nodeTexts } from "@/nodeTexts";

const t = nodeTexts.use;
const HOUR = 3_600_000;

/** How far back curves go, in ms. */
export const SPANS = { hour: HOUR, half: 12 * HOUR, week: 7 * 24 * HOUR, quarter: 90 * 24 * HOUR };
export type Span = keyof typeof SPANS;

type Machine = { cpu?: number; memory?: number; disk?: number };

/** The figures of a machine, or of all together: no curve goes beyond what there is. */
export function machineFigures({ cpu, memory, disk }: Machine): Figure[] {
  return [
    cpuFigure({ value: cpu, say: t.all }),
    memoryFigure({ value: memory, say: t.all }),
    diskFreeFigure({ value: disk, say: t.all }),
    networkFigure,
  ];
}

/** Chooses how far back the curves go. */
export function Spans({ span, set }: { span: Span; set: (span: Span) => void }) {
  return (
    <fieldset className="row gap-1 end">
      <legend className="vh">{t.span}</legend>
      {(Object.keys(SPANS) as Span[]).map((key) => (
        <button
          key={key}
          type="button"
          className="btn ghost sm aria-pressed:bg-active"
          aria-pressed={key === span}
          onClick={() => set(key)}
        >
          {t.spans[key]}
        </button>
      ))}
    </fieldset>
  );
}

/** The lines of one figure of a node, or of all. */
export function Curves({
  figure,
  metrics,
  marks,
}: {
  figure: Figure;
  metrics: Metrics;
  marks?: Mark[];
}) {
  return (
    <Drawn
      figure={figure}
      points={metrics.series[0]?.points ?? NONE}
      marks={marks}
      from={metrics.from}
      to={metrics.to}
      label={figure.title}
      unknown={nodeTexts.notKnown}
    />
  );
}

const NONE: MetricPoint[] = [];
