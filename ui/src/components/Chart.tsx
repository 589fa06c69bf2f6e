import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Curve, findGaps } from "./curve";
import { formatClock } from "./time";

export type Mark = { at: number; text: string };
export type Line = { name: string; curve: Curve; token: string };
/** A line that is not to be crossed, and what it is called. */
export type Limit = { value: number; text: string };

type Props = {
  lines: Line[];
  /** Seconds since 1970. */
  from: number;
  to: number;
  limit?: Limit;
  /** What happened meanwhile, in seconds since 1970, said above its mark. */
  marks?: Mark[];
  format: (value: number) => string;
  label: string;
  /** Hears which point the crosshair is at, of this chart or any other of the page. */
  onPoint?: (index: number | undefined) => void;
};

const HEIGHT = 132;
/** Above the curves, where words hide none of them. */
const WORDS = 18;

/** Curves over time, hatched where nothing is known. Loaded with the page that needs it. */
export default function Chart(props: Props) {
  const { lines, from, to, limit, marks, format, label, onPoint } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(
        options(parent, { lines, from, to, limit, marks, format, label, onPoint }),
        alignLines(lines),
        parent,
      );
    };
    draw();
    const walk = (event: KeyboardEvent) => plot && moveCrosshair(plot, event);
    const leave = () => plot && publishCursor(plot, -10);
    parent.addEventListener("keydown", walk);
    parent.addEventListener("blur", leave);
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
      parent.removeEventListener("keydown", walk);
      parent.removeEventListener("blur", leave);
      sized.disconnect();
      themed.disconnect();
      system.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [lines, from, to, limit, marks, format, label, onPoint]);
  // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the crosshair, as the pointer does
  return <div ref={box} className="chart" role="img" aria-label={label} tabIndex={0} />;
}

/** How far an arrow key moves the crosshair, in points; with Shift ten times as far. */
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** Moves the crosshair along the points by arrow keys, Home and End; Escape takes it away. */
function moveCrosshair(plot: uPlot, event: KeyboardEvent) {
  const last = (plot.data[0]?.length ?? 0) - 1;
  if (last < 0) return;
  const at = plot.cursor.idx ?? last;
  const step = (STEPS[event.key] ?? 0) * (event.shiftKey ? 10 : 1);
  const next = { Home: 0, End: last, Escape: -1 }[event.key] ?? (step ? at + step : undefined);
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const time = plot.data[0]?.[Math.min(last, Math.max(0, next))] ?? 0;
  const left = event.key === "Escape" ? -10 : plot.valToPos(time, "x");
  publishCursor(plot, left);
}

/** Puts the crosshair of all charts there; below zero it is nowhere. The library's types lack the last argument. */
function publishCursor(plot: uPlot, left: number) {
  const move: (at: { left: number; top: number }, fire: boolean, publish: boolean) => void =
    plot.setCursor;
  move({ left, top: Math.min(left, 0) }, true, true);
}

/** One row of times for all lines; they were measured together. */
function alignLines(lines: Line[]): uPlot.AlignedData {
  return [lines[0]?.curve.times ?? [], ...lines.map((line) => line.curve.values)];
}

function options(parent: HTMLElement, props: Props): uPlot.Options {
  const { lines, from, to, limit, marks = [], format, onPoint } = props;
  const font = `11px ${getComputedStyle(parent).fontFamily}`;
  const quiet = resolveColour(parent, "--color-text-3");
  const faint = resolveColour(parent, "--color-line-faint");
  const axis = { stroke: quiet, font, grid: { stroke: faint, width: 1 }, ticks: { show: false } };
  return {
    width: parent.clientWidth || 320,
    height: HEIGHT,
    legend: { show: false },
    padding: [limit || marks.length > 0 ? WORDS : null, null, null, null],
    // One crosshair through all charts of the page: they show the same time.
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: "page" } },
    scales: {
      x: { min: from, max: to },
      y: { range: (_, __, high) => [0, addHeadroom(Math.max(high, limit?.value ?? 0))] },
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
          const free = limit
            ? drawLimit(plot, limit, resolveColour(parent, "--color-st-undoing"))
            : plot.bbox.left + plot.bbox.width;
          drawMarks(plot, marks, quiet, free);
        },
      ],
      setCursor: [({ cursor }) => onPoint?.(cursor.idx ?? undefined)],
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

/** Dashed, so that it is no curve; what it is stands above all, at the end. Returns where that begins. */
function drawLimit({ ctx, bbox, valToPos }: uPlot, { value, text }: Limit, colour: string) {
  const y = valToPos(value, "y", true);
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.setLineDash([6, 4]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(right, y);
  ctx.stroke();
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.fillText(text, right, bbox.top - 3);
  const begin = right - ctx.measureText(text).width - 8;
  ctx.restore();
  return begin;
}

/**
 * Thin lines at their times, and above each what happened. Words end before `free`; where they have no
 * room, the newer ones have it.
 */
function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: Mark[], colour: string, free: number) {
  const end = bbox.left + bbox.width;
  let room = free;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.setLineDash([2, 3]);
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  const shown = [...marks]
    .sort((a, b) => b.at - a.at)
    .map(({ at, text }) => ({ x: valToPos(at, "x", true), text }))
    .filter(({ x }) => x >= bbox.left && x <= end);
  for (const { x, text } of shown) {
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const wide = ctx.measureText(text).width + 8;
    const left = x + wide <= room ? x : x - wide;
    if (left + wide > room || left < bbox.left) continue;
    ctx.fillText(text, left, bbox.top - 3);
    room = left;
  }
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
