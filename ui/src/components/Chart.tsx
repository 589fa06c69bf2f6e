import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Curve, findGaps } from "./curve";
import { formatClock } from "./time";

export type Mark = { at: number; text: string };
export type Line = { name: string; curve: Curve; token: string };

type Props = {
  lines: Line[];
  /** Seconds since 1970. */
  from: number;
  to: number;
  /** The top of the scale, if there is one. */
  most?: number;
  /** A line that is not to be crossed. */
  limit?: number;
  /** What happened meanwhile, in seconds since 1970, said beside its mark. */
  marks?: Mark[];
  format: (value: number) => string;
  label: string;
};

const HEIGHT = 132;

/** Curves over time, hatched where nothing is known. Loaded with the page that needs it. */
export default function Chart(props: Props) {
  const { lines, from, to, most, limit, marks, format, label } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(
        options(parent, { lines, from, to, most, limit, marks, format, label }),
        alignLines(lines),
        parent,
      );
    };
    draw();
    const sized = new ResizeObserver(() =>
      plot?.setSize({ width: parent.clientWidth, height: HEIGHT }),
    );
    sized.observe(parent);
    // Colours are read when the picture is made: another theme is another picture.
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", draw);
    return () => {
      sized.disconnect();
      themed.disconnect();
      system.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [lines, from, to, most, limit, marks, format, label]);
  return <div ref={box} className="chart" role="img" aria-label={label} />;
}

/** One row of times for all lines; they were measured together. */
function alignLines(lines: Line[]): uPlot.AlignedData {
  return [lines[0]?.curve.times ?? [], ...lines.map((line) => line.curve.values)];
}

function options(parent: HTMLElement, props: Props): uPlot.Options {
  const { lines, from, to, most, limit = 0, marks = [], format } = props;
  const font = `11px ${getComputedStyle(parent).fontFamily}`;
  const quiet = resolveColour(parent, "--color-text-3");
  const faint = resolveColour(parent, "--color-line-faint");
  const axis = { stroke: quiet, font, grid: { stroke: faint, width: 1 }, ticks: { show: false } };
  return {
    width: parent.clientWidth || 320,
    height: HEIGHT,
    legend: { show: false },
    // One crosshair through all charts of the page: they show the same time.
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: "page" } },
    scales: {
      x: { min: from, max: to },
      y: { range: (_, __, high) => [0, most ?? addHeadroom(Math.max(high, limit))] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        space: 96,
        values: (_, ticks) => ticks.map((seconds) => formatClock(seconds * 1000)),
      },
      { ...axis, size: 64, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: resolveColour(parent, line.token),
        width: 1.5,
        points: { show: false },
      })),
    ],
    hooks: {
      drawClear: [(plot) => hatch(plot, findGaps(knownTimes(lines), from, to), faint)],
      draw: [
        (plot) => {
          plot.ctx.font = scaled(font);
          if (limit > 0) drawLimit(plot, limit, resolveColour(parent, "--color-st-warn"));
          for (const mark of marks) drawMark(plot, mark, quiet);
        },
      ],
    },
  };
}

/** A little air above the highest point, so that no curve runs along the edge. */
function addHeadroom(high: number): number {
  return high * 1.15 || 1;
}

function knownTimes(lines: Line[]): number[] {
  const first = lines[0]?.curve;
  return first ? first.times.filter((_, i) => first.values[i] !== null) : [];
}

/** A canvas counts in pixels of the screen. */
const scaled = (font: string) => font.replace("11px", `${11 * devicePixelRatio}px`);

/** Dashed, so that it is no curve. */
function drawLimit({ ctx, bbox, valToPos }: uPlot, limit: number, stroke: string) {
  const y = valToPos(limit, "y", true);
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** A thin line at its time, and beside it what happened. */
function drawMark({ ctx, bbox, valToPos }: uPlot, { at, text }: Mark, colour: string) {
  const x = valToPos(at, "x", true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const right = x > bbox.left + bbox.width * 0.8;
  ctx.textAlign = right ? "right" : "left";
  ctx.textBaseline = "top";
  ctx.fillText(text, right ? x - 4 : x + 4, bbox.top);
  ctx.restore();
}

/** Thin slanted lines over what is not known. */
function hatch(plot: uPlot, missing: [number, number][], stroke: string) {
  const { ctx, bbox } = plot;
  for (const [start, end] of missing) {
    const left = Math.max(bbox.left, plot.valToPos(start, "x", true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(end, "x", true));
    if (right <= left) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.strokeStyle = stroke;
    ctx.beginPath();
    for (let x = left - bbox.height; x < right; x += 8) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
}

/** A token as a colour that a canvas understands: light-dark() is resolved by the browser only. */
function resolveColour(parent: HTMLElement, token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  parent.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
