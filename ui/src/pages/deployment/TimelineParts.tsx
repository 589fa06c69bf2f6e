import type { CSSProperties } from "react";
import { Glyph } from "@/components/Glyph";
import { lookOf, stateWord } from "@/components/Status";
import { formatDuration } from "@/components/time";
import { dateLocale } from "@/locale";
import { timelineTexts as t } from "@/pages/deployment/timelineTexts";
import { type Lane, type Part, sumParts, type Timeline } from "./timeline";

export type AxisProps = {
  axis: Timeline;
  length: number;
  zoom: number;
  selected?: string;
  onSelect: (key: string) => void;
};

/** To the millisecond, as the agent tells: what took so long is often less than a second. */
const exact = new Intl.DateTimeFormat(dateLocale, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

function sayMoment(at: number): string {
  return exact.format(at);
}

function nameOf(lane: Lane): string {
  return lane.key || t.way;
}

/** "Image pull 1.2 s, 14:02:11.250 to 14:02:12.450, ahead of its turn". */
function sayPart(part: Part): string {
  return [
    `${t.parts[part.kind]} ${formatDuration(part.to - part.from)}`,
    part.open ? sayMoment(part.from) : `${sayMoment(part.from)} – ${sayMoment(part.to)}`,
    ...sayMarks(part),
  ].join(", ");
}

function sayMarks({ ahead, failed, open }: Part): string[] {
  return [ahead ? t.ahead : "", failed ? t.failed : "", open ? t.still : ""].filter(Boolean);
}

/** The exact times of what the chosen step did, for those who point at nothing. */
export function PartTable({ lane }: { lane: Lane }) {
  const parts = [...lane.parts].sort((a, b) => a.from - b.from);
  const name = nameOf(lane);
  if (parts.length === 0) return <p className="t3 s px-4 py-2">{t.unknown}</p>;
  return (
    <table className="tlparts" aria-label={t.exact(name)}>
      <thead>
        <tr>
          <th>{name}</th>
          <th>{t.from}</th>
          <th>{t.to}</th>
          <th>{t.took}</th>
        </tr>
      </thead>
      <tbody>
        {parts.map((part) => (
          <tr key={`${part.kind} ${part.from} ${part.ahead}`}>
            <th scope="row">
              <i
                className="tlkey"
                data-st={lane.state}
                data-part={part.kind}
                data-failed={part.failed || undefined}
              />
              {t.parts[part.kind]}
              {sayMarks(part).map((mark) => (
                <span key={mark} className="t3">
                  , {mark}
                </span>
              ))}
            </th>
            <td>{sayMoment(part.from)}</td>
            <td>{part.open ? "" : sayMoment(part.to)}</td>
            <td>{formatDuration(part.to - part.from)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function formatTick(ms: number): string {
  return ms === 0 ? "0" : ms < 10_000 && ms % 1000 !== 0 ? `${ms / 1000} s` : shorten(ms);
}

/** Round offsets need no place behind the point: "5 s", "1 min 30 s". */
function shorten(ms: number): string {
  return formatDuration(ms).replace(/[.,]0(?=\s)/, "");
}

type NameProps = {
  lane: Lane;
  selected: boolean;
  onSelect: (key: string) => void;
  style?: CSSProperties;
};

export function LaneName({ lane, selected, onSelect, style }: NameProps) {
  const spent = lane.turn ? formatDuration(lane.turn.to - lane.turn.from) : "";
  const inside = (
    <>
      <Glyph state={lane.state} size="sm" />
      <span className="tr">{nameOf(lane)}</span>
      <span className="end t2 nw">{spent}</span>
    </>
  );
  if (!lane.step)
    return (
      <div className="tlname t2" data-st={lookOf(lane.state)} style={style}>
        {inside}
      </div>
    );
  return (
    <button
      type="button"
      className="tlname"
      style={style}
      data-st={lookOf(lane.state)}
      data-step={lane.key}
      aria-pressed={selected}
      onClick={() => onSelect(lane.key)}
    >
      {inside}
      <span className="vh">{describeLane(lane)}</span>
    </button>
  );
}

/** What a lane shows without words: what it came to, and what it did meanwhile. */
function describeLane(lane: Lane): string {
  const usual = lane.step?.usual_seconds;
  return [
    stateWord(lane.state),
    lane.cleanup ? stateWord(lane.cleanup) : "",
    ...sumParts(lane.parts).map(
      ({ kind, ms, times }) =>
        `${t.parts[kind]} ${formatDuration(ms)}${times > 1 ? ` (${t.times(times)})` : ""}`,
    ),
    usual ? t.usual(formatDuration(usual * 1000)) : "",
  ]
    .filter(Boolean)
    .join(", ");
}

type BarProps = { part: Part; style: CSSProperties; share?: number };

export function PartBar({ part, style, share = 0 }: BarProps) {
  return (
    <span
      className="tlpart"
      data-part={part.kind}
      data-ahead={part.ahead || undefined}
      data-failed={part.failed || undefined}
      data-open={part.open || undefined}
      style={style}
      title={sayPart(part)}
    >
      {share > 0.12 ? <span>{t.parts[part.kind]}</span> : null}
    </span>
  );
}

export function Ghost({ lane, style }: { lane: Lane; style?: CSSProperties }) {
  if (!lane.ghost || !style) return null;
  const spent = formatDuration(lane.ghost.to - lane.ghost.from);
  return <i className="tlghost" style={style} title={t.ghostOf(nameOf(lane), spent)} />;
}
