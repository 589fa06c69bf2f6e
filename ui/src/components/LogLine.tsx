import { memo } from "react";
import { locale } from "@/locale";
import { texts } from "@/texts";
import { parseAnsi } from "./ansi";
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
  href?: string;
};

export const Line = memo(function Line({ line, number, start, cut, before, day, href }: LineProps) {
  return (
    <>
      {before ? <Mark>{before}</Mark> : null}
      {cut > 0 ? <Mark>{t.cut(cut)}</Mark> : null}
      {day ? <Mark>{day}</Mark> : null}
      {line.dropped ? <Mark>{t.dropped(line.dropped)}</Mark> : null}
      {href ? (
        <a className="k" href={href} title={t.link}>
          {number}
        </a>
      ) : (
        <span className="k">{number}</span>
      )}
      <span className="tm" title={formatExact(line.at)}>
        {start ? formatOffset(line.at, start) : clockOf(line.at)}
      </span>
      <span dir="ltr">
        {line.source ? <span className="t3">{`${line.source}  `}</span> : null}
        {parseAnsi(line.text).map((span, i) => (
          <span key={i} className={span.cls || undefined}>
            {span.text}
          </span>
        ))}
      </span>
    </>
  );
});

/** Says in the log itself what the lines do not: that some are missing here, or another day begins. */
function Mark({ children }: { children: string }) {
  return (
    <div className="ln mk static col-span-3 pr-0">
      <div>{children}</div>
    </div>
  );
}

const seconds = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

function clockOf(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : seconds.format(date);
}

const dates = new Intl.DateTimeFormat(locale, { dateStyle: "full" });

/** The day of a line whose day is not that of the line before; of the first, when it is not today. */
export function newDay(line: LogRow, before?: LogRow): string | undefined {
  const date = new Date(line.at);
  const known = before ? new Date(before.at) : new Date();
  if (Number.isNaN(date.getTime()) || date.toDateString() === known.toDateString())
    return undefined;
  return dates.format(date);
}
