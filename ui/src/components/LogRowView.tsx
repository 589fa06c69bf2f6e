import { ChevronDown, ChevronRight } from "lucide-react";
import { logTexts as t } from "@/components/logTexts";
import { LineText, type LogRow, newDay, TONES } from "./LogLine";
import { sayAttempt } from "./lineNumber";
import type { LogGroup } from "./logRows";
import { formatClockSeconds } from "./time";
import type { Find } from "./useLogFind";
import type { LogLayout } from "./useLogLayout";

type Props = {
  row: number;
  layout: LogLayout;
  find: Find;
  /** The number of each source's colour. */
  tones: Map<string, number>;
  measure: (element: HTMLElement | null) => void;
  /** Where it is in the log, in px. */
  top: number;
  /** Somebody went to it. */
  marked: boolean;
  start?: string;
  cut: number;
  before?: string;
  cause?: number;
  link?: (line: LogRow) => string | undefined;
  go?: (line: LogRow) => void;
  raw: boolean;
};

/** One row of a log: a line, alone or for all equal ones after it, or the head of a step. */
export function LogRowView(props: Props) {
  const { row, layout, find, tones, measure, top, marked, start, cut, before, cause } = props;
  const { scan, rows } = layout;
  const place = { ref: measure, style: { transform: `translateY(${top}px)` } };
  const index = rows.at[row] ?? 0;
  if (index < 0) {
    const group = rows.groups[-1 - index] as LogGroup;
    return (
      <div className="ln lg" data-index={row} {...place}>
        <GroupHead group={group} layout={layout} tone={tones.get(group.source)} />
      </div>
    );
  }
  const line = scan.lines[index];
  // Rows are taken over from one drawing to the next: one that was begun earlier knows fewer lines.
  if (!line) return null;
  const previous = previousLine(layout, row);
  const isCause = cause !== undefined && line.number === cause;
  const more = rows.more[row] ?? 0;
  const hides = find.only && !find.far && find.hits;
  return (
    <div
      data-index={row}
      className={`ln ${marked ? "hit" : ""} ${isCause ? "cause" : ""}`}
      data-level={scan.leveled ? scan.levels[index] : undefined}
      data-around={hides && !find.hits?.[index] ? "" : undefined}
      title={isCause ? t.cause : undefined}
      {...place}
    >
      <LineText
        line={line}
        number={line.number ?? cut + index + 1}
        start={start}
        cut={index === 0 ? cut : 0}
        before={index === 0 ? before : undefined}
        day={start ? undefined : newDay(line, previous)}
        attempt={newAttempt(line, previous)}
        hidden={hides ? rows.skipped[row] : 0}
        href={props.link?.(line)}
        go={props.go}
        level={scan.leveled ? (scan.levels[index] ?? "none") : undefined}
        tone={tones.size > 1 && !layout.grouped ? (tones.get(line.source ?? "") ?? 0) : undefined}
        raw={props.raw}
        equal={more}
        until={more > 0 ? scan.lines[rows.last[row] ?? index]?.at : undefined}
        opened={layout.isOpened(line)}
        open={layout.openEqual}
      />
    </div>
  );
}

function previousLine({ scan, rows }: LogLayout, row: number): LogRow | undefined {
  const last = rows.last[row - 1];
  return last === undefined || last < 0 ? undefined : scan.lines[last];
}

/** The attempt that a line begins, unless it is the first. */
function newAttempt(line: LogRow, before?: LogRow): string | undefined {
  const attempt = line.number === undefined ? undefined : sayAttempt(line.number);
  return attempt === (before?.number === undefined ? undefined : sayAttempt(before.number))
    ? undefined
    : attempt;
}

type HeadProps = { group: LogGroup; layout: LogLayout; tone?: number };

/** Whose lines follow, how many, and from when to when; hides them. */
function GroupHead({ group, layout, tone }: HeadProps) {
  const { lines } = layout.scan;
  const Chevron = group.folded ? ChevronRight : ChevronDown;
  const [first, last] = [group.first, group.last].map((at) =>
    formatClockSeconds(lines[at]?.at ?? ""),
  );
  return (
    <button
      type="button"
      aria-expanded={!group.folded}
      onClick={() => layout.toggleGroup(group.source)}
    >
      <Chevron className="i sm" aria-hidden="true" />
      <b data-tone={tone === undefined ? undefined : tone % TONES}>{group.source}</b>{" "}
      <span className="t3">{t.lines(group.lines)}</span>{" "}
      {group.errors > 0 ? <span className="text-st-failed">{t.errors(group.errors)}</span> : null}{" "}
      <span className="t3 end">{first === last ? first : `${first} – ${last}`}</span>
    </button>
  );
}
