import { type MouseEvent, memo } from "react";
import { logTexts as t } from "@/components/logTexts";
import { dateLocale } from "@/locale";
import { parseAnsi, plainText } from "./ansi";
import { numberInAttempt, sayLine } from "./lineNumber";
import { type Level, parseRecord } from "./logLevel";
import { formatClockSeconds, formatExact, formatOffset } from "./time";

/** How many colours sources have. The name stands in each. */
export const TONES = 6;

/** One line as a log shows it. `number` and `dropped` are absent where a source has none. */
export type LogRow = {
  number?: number;
  at: string;
  text: string;
  dropped?: number;
  /** Whose line it is, where several are in one log. */
  source?: string;
  /** Its place in a merged log, for links to it. */
  id?: string;
};

type LineProps = {
  line: LogRow;
  number: number;
  start?: string;
  cut: number;
  before?: string;
  /** Said before the first line of a day, where times are by the clock. */
  day?: string;
  /** Said before the first line of an attempt other than the first. */
  attempt?: string;
  /** How many lines before it are left out, as they have not what is looked for. */
  hidden?: number;
  href?: string;
  /** Goes to the address of the line without leaving the page. */
  go?: (line: LogRow) => void;
  /** How serious it is; absent where the log has no column for that. */
  level?: Level | "none";
  /** The number of its source's colour; absent where the log has no column for sources. */
  tone?: number;
  /** Whether lines stand as they were written. */
  raw: boolean;
  /** How many equal lines follow that are not shown, and when the last one was written. */
  equal: number;
  until?: string;
  /** Whether the equal lines after it are shown by choice. */
  opened: boolean;
  open: (line: LogRow) => void;
};

export const LineText = memo(function LineText(props: LineProps) {
  const { line, number, start, href, go, level, tone, raw } = props;
  const place = sayLine(number);
  const follow = (event: MouseEvent) => {
    if (!go || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(line);
  };
  return (
    <>
      <Marks {...props} />
      {href ? (
        <a className="k" href={href} title={`${place}. ${t.link}`} onClick={follow}>
          {numberInAttempt(number)}
        </a>
      ) : (
        <span className="k" title={place}>
          {numberInAttempt(number)}
        </span>
      )}
      <span className="tm" title={formatExact(line.at)}>
        {start ? formatOffset(line.at, start) : formatClockSeconds(line.at)}
      </span>
      {level ? <span className="lv">{level === "none" ? "" : t.levels[level]}</span> : null}
      {tone === undefined ? null : (
        <span className="src" data-tone={tone % TONES} title={line.source}>
          {line.source}
        </span>
      )}
      <span className="tx" dir="ltr">
        <Content text={line.text} raw={raw} />
        <Equal {...props} />
      </span>
    </>
  );
});

/** Says in the log itself what the lines do not: that some are missing here, or another day begins. */
function Marks({ line, before, cut, day, attempt, hidden }: LineProps) {
  return (
    <>
      {before ? <Mark>{before}</Mark> : null}
      {cut > 0 ? <Mark>{t.cut(cut)}</Mark> : null}
      {day ? <Mark>{day}</Mark> : null}
      {attempt ? <Mark>{attempt}</Mark> : null}
      {line.dropped ? <Mark>{t.dropped(line.dropped)}</Mark> : null}
      {hidden ? <Mark>{t.hidden(hidden)}</Mark> : null}
    </>
  );
}

/** How often the line was written one after the other; shows each of them, or folds them again. */
function Equal({ line, equal, until, opened, open }: LineProps) {
  if (equal === 0 && !opened) return null;
  const label = opened ? t.foldEqual : t.openEqual(equal + 1);
  return (
    <button
      type="button"
      className="eq"
      aria-label={label}
      title={until ? `${label}. ${t.until(formatClockSeconds(until))}` : label}
      onClick={() => open(line)}
    >
      {opened ? t.fold : t.times(equal + 1)}
    </button>
  );
}

/** A record as its message and its fields; any other line as it is. */
function Content({ text, raw }: { text: string; raw: boolean }) {
  const record = raw ? undefined : parseRecord(plainText(text));
  if (!record) return <Ansi text={text} />;
  return (
    <>
      <Ansi text={record.message} />
      {record.fields.map(([key, value]) => (
        <span key={key} className="fd">
          {/* What is copied needs a space that a margin does not give. */}{" "}
          <span className="fk">
            <Ansi text={key} />=
          </span>
          <Ansi text={value} />
        </span>
      ))}
    </>
  );
}

function Ansi({ text }: { text: string }) {
  return parseAnsi(text).map((span, i) => (
    <span key={i} className={span.cls || undefined}>
      {span.text}
    </span>
  ));
}

function Mark({ children }: { children: string }) {
  return (
    <div className="ln mk static pr-0">
      <div>{children}</div>
    </div>
  );
}

const dates = new Intl.DateTimeFormat(dateLocale, { dateStyle: "full" });

/** The day of a line whose day is not that of the line before; of the first, when it is not today. */
export function newDay(line: LogRow, before?: LogRow): string | undefined {
  const date = new Date(line.at);
  const known = before ? new Date(before.at) : new Date();
  if (Number.isNaN(date.getTime()) || date.toDateString() === known.toDateString())
    return undefined;
  return dates.format(date);
}
