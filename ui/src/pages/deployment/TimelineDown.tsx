import { lookOf } from "@/components/Status";
import { timelineTexts as t } from "@/pages/deployment/timelineTexts";
import { type AxisProps, formatTick, Ghost, LaneName, PartBar } from "./TimelineParts";
import { axisTicks, type Lane } from "./timeline";

/** The least height of a name, and of the whole axis, in px. */
const ROW = 44;
const LEAST = 360;

/** On a phone: time runs down the page, and each step's name stands where its turn began. */
export function TimelineDown({ axis, length, zoom, selected, onSelect }: AxisProps) {
  const height = Math.max(LEAST, axis.lanes.length * ROW) * zoom;
  const at = (time: number) => (height * (time - axis.start)) / length;
  const names = placeNames(axis.lanes, at);
  const bottom = Math.max(height, ...names.map((top) => top + ROW));
  const place = (from: number, to: number) => ({
    top: at(from),
    height: Math.max(0, at(to) - at(from)),
  });
  return (
    <div
      className="tldown"
      style={{ height: bottom + 8 }}
      data-steps
      role="group"
      aria-label={t.label}
    >
      {axisTicks(length, height / 60).map((tick) => (
        <span key={tick} className="tltick" style={{ top: at(axis.start + tick) }}>
          {formatTick(tick)}
        </span>
      ))}
      <svg className="tllead" aria-hidden="true" width="24" height={bottom}>
        {axis.lanes.map((lane, i) => {
          const begin = beginOf(lane);
          if (begin === undefined) return null;
          const [from, to] = [at(begin), (names[i] ?? 0) + 20];
          return <path key={lane.key} d={`M0 ${from} L8 ${from} L16 ${to} L24 ${to}`} />;
        })}
      </svg>
      {axis.lanes.map((lane, i) => (
        <div key={lane.key} data-st={lookOf(lane.state)} className="contents">
          <Ghost lane={lane} style={lane.ghost && place(lane.ghost.from, lane.ghost.to)} />
          {lane.turn ? <i className="tlturn" style={place(lane.turn.from, lane.turn.to)} /> : null}
          {lane.parts.map((part) => (
            <PartBar
              key={`${part.kind} ${part.from} ${part.ahead}`}
              part={part}
              style={place(part.from, part.to)}
            />
          ))}
          <LaneName
            lane={lane}
            style={{ top: names[i] }}
            selected={lane.key === selected}
            onSelect={onSelect}
          />
        </div>
      ))}
    </div>
  );
}

function beginOf(lane: Lane): number | undefined {
  return lane.turn?.from ?? lane.parts.find((part) => part.kind !== "undo")?.from;
}

/** Each where its turn began, or below the name before it; what has not begun comes last. */
function placeNames(lanes: Lane[], at: (time: number) => number): number[] {
  let free = 0;
  return lanes.map((lane) => {
    const begin = beginOf(lane);
    const top = Math.max(free, begin === undefined ? 0 : at(begin) - ROW / 2);
    free = top + ROW;
    return top;
  });
}
