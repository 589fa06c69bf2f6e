import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import {
  type CSSProperties,
  type ReactNode,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Run, Step } from "@/api/client";
import { Button } from "@/components/Button";
import { useKeys, useNarrow } from "@/components/Shell";
import { Skeletons } from "@/components/States";
import { lookOf } from "@/components/Status";
import { useNow } from "@/components/Time";
import { timelineTexts as t } from "@/pages/deployment/timelineTexts";
import { TimelineDown } from "./TimelineDown";
import { type AxisProps, formatTick, Ghost, LaneName, PartBar, PartTable } from "./TimelineParts";
import "./timeline.css";
import {
  type Timeline as Axis,
  axisLength,
  axisTicks,
  buildTimeline,
  type PartKind,
} from "./timeline";

type Props = {
  run?: Run;
  steps: Step[];
  selected?: string;
  onSelect: (key: string) => void;
};

const MOST_ZOOM = 32;

/** The steps of a run as bars on one axis, with the usual run behind them. */
export default function Timeline({ run, steps, selected, onSelect }: Props) {
  const now = useNow();
  const narrow = useNarrow(720);
  const [zoom, setZoom] = useState(1);
  const axis = run ? buildTimeline(run, steps, now) : undefined;
  const change = (by: number) => setZoom((was) => Math.min(MOST_ZOOM, Math.max(1, was * by)));
  useKeys({
    "+": () => change(2),
    "=": () => change(2),
    "-": () => change(0.5),
    "0": () => setZoom(1),
  });
  if (!axis) return <Skeletons count={7} height={28} />;
  const length = axisLength(axis);
  const chosen = axis.lanes.find((lane) => lane.key === selected);
  const props = { axis, length, zoom, selected, onSelect };
  return (
    <div className="tl">
      <div className="tlbar">
        <Legend axis={axis} />
        <span className="row end gap-1">
          {zoom > 1 ? <span className="t3 s">{t.scale(zoom)}</span> : null}
          <ZoomButton label={t.zoomOut} reason={zoom === 1} onClick={() => change(0.5)}>
            <ZoomOut className="i sm" aria-hidden="true" />
          </ZoomButton>
          <ZoomButton label={t.zoomIn} reason={zoom === MOST_ZOOM} onClick={() => change(2)}>
            <ZoomIn className="i sm" aria-hidden="true" />
          </ZoomButton>
          <ZoomButton label={t.fit} reason={zoom === 1} onClick={() => setZoom(1)}>
            <Maximize className="i sm" aria-hidden="true" />
          </ZoomButton>
        </span>
      </div>
      {narrow ? <TimelineDown {...props} /> : <Across {...props} />}
      {chosen ? <PartTable lane={chosen} /> : null}
    </div>
  );
}

type ZoomProps = { label: string; reason: boolean; onClick: () => void; children: ReactNode };

function ZoomButton({ label, reason, onClick, children }: ZoomProps) {
  return (
    <Button
      small
      icon
      look="ghost"
      aria-label={label}
      title={label}
      aria-disabled={reason}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}

/** From left to right: a row for each step, and one axis for all of them. */
function Across({ axis, length, zoom, selected, onSelect }: AxisProps) {
  const box = useZoomCenter(zoom);
  const ticks = axisTicks(length, 6 * zoom);
  const place = (from: number, to: number): CSSProperties => ({
    left: `${(100 * (from - axis.start)) / length}%`,
    width: `${(100 * Math.max(0, to - from)) / length}%`,
  });
  return (
    <div className="tlgrid" data-steps>
      <div className="tlnames">
        <div className="tlticks" />
        {axis.lanes.map((lane) => (
          <LaneName
            key={lane.key}
            lane={lane}
            selected={lane.key === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
      <div
        className="tlscroll"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="group"
        aria-label={`${t.label}. ${t.keys}`}
      >
        <div className="tlinner" style={{ width: `${100 * zoom}%` }}>
          <div className="tlticks" aria-hidden="true">
            {ticks.map((tick) => (
              <span
                key={tick}
                style={{ left: `${(100 * tick) / length}%` }}
                data-last={tick === length || undefined}
              >
                {formatTick(tick)}
              </span>
            ))}
          </div>
          {axis.lanes.map((lane) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: its name beside it is the button for keys
            // biome-ignore lint/a11y/useKeyWithClickEvents: its name beside it is the button for keys
            <div
              key={lane.key}
              className="tllane"
              data-st={lookOf(lane.state)}
              data-on={lane.key === selected || undefined}
              onClick={() => lane.step && onSelect(lane.key)}
            >
              {ticks.map((tick) => (
                <i key={tick} className="tlline" style={{ left: `${(100 * tick) / length}%` }} />
              ))}
              <Ghost lane={lane} style={lane.ghost && place(lane.ghost.from, lane.ghost.to)} />
              {lane.turn ? (
                <i className="tlturn" style={place(lane.turn.from, lane.turn.to)} />
              ) : null}
              {lane.parts.map((part) => (
                <PartBar
                  key={`${part.kind} ${part.from} ${part.ahead}`}
                  part={part}
                  style={place(part.from, part.to)}
                  share={(zoom * (part.to - part.from)) / length}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** What is in the middle stays there when the axis grows. */
function useZoomCenter(zoom: number) {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef(zoom);
  useLayoutEffect(() => {
    const pane = box.current;
    if (!pane || before.current === zoom) return;
    const middle = (pane.scrollLeft + pane.clientWidth / 2) / before.current;
    pane.scrollLeft = middle * zoom - pane.clientWidth / 2;
    before.current = zoom;
  }, [zoom]);
  return box;
}

/** Only what the run has: a pattern that is not there needs no word. */
function Legend({ axis }: { axis: Axis }) {
  const kinds = useMemo(() => {
    const seen = new Set(axis.lanes.flatMap(({ parts }) => parts.map((part) => part.kind)));
    return (Object.keys(t.parts) as PartKind[]).filter((kind) => seen.has(kind));
  }, [axis]);
  return (
    <ul className="tllegend">
      {kinds.map((kind) => (
        <li key={kind}>
          <i className="tlkey" data-part={kind} data-st="done" aria-hidden="true" />
          {t.parts[kind]}
        </li>
      ))}
      {axis.lanes.some((lane) => lane.ghost) ? (
        <li title={t.ghost}>
          <i className="tlkey tlghost" aria-hidden="true" />
          {t.usualKey}
        </li>
      ) : null}
    </ul>
  );
}
