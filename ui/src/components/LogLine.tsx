import { type MouseEvent, memo } from "react";
import { logTexts } from "@/components/logTexts";
import { dateLocale, locale } from "@/locale";
import { texts } from "@/texts";
import { parseAnsi, plainText } from "./ansi";
import { numberInAttempt, sayLine } from "./lineNumber";
import { levelOf, parseRecord } from "./logLevel";
import { formatExact, formatOffset } from "./time";

const t = texts.log;

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
  href?: string;
  /** Goes to the address of the line without leaving the page. */
  go?: (line: LogRow) => void;
  /** Whether the log has a column for levels. */
  levels: boolean;
  /** Whether lines stand as they were written. */
  raw: boolean;
};

export const Line = memo(function Line(props: LineProps) {
  const { line, number, start, cut, before, day, attempt, href, go, levels, raw } = props;
  const place = sayLine(number);
  const follow = (event: MouseEvent) => {
    if (!go || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(line);
  };
  return (
    <>
      {before ? <Mark>{before}</Mark> : null}
      {cut > 0 ? <Mark>{t.cut(cut)}</Mark> : null}
      {day ? <Mark>{day}</Mark> : null}
      {attempt ? <Mark>{attempt}</Mark> : null}
      {line.dropped ? <Mark>{t.dropped(line.dropped)}</Mark> : null}
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
        {start ? formatOffset(line.at, start) : clockOf(line.at)}
      </span>
      {levels ? <LevelCell text={line.text} /> : null}
      <span className="tx" dir="ltr">
        {line.source ? <span className="t3">{`${line.source}  `}</span> : null}
        <Content text={line.text} raw={raw} />
      </span>
    </>
  );
});

function LevelCell({ text }: { text: string }) {
  const level = levelOf(plainText(text));
  return <span className="lv">{level ? logTexts.levels[level] : ""}</span>;
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

/** Says in the log itself what the lines do not: that some are missing here, or another day begins. */
function Mark({ children }: { children: string }) {
  return (
    <div className="ln mk static pr-0">
      <div>{children}</div>
    </div>
  );
}

const seconds = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

function clockOf(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : seconds.format(date);
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
