import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine, Download, Pause, Search, WrapText } from "lucide-react";
import {
  memo,
  type ReactNode,
  type UIEvent,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { locale } from "@/locale";
import { texts } from "@/texts";
import { parseAnsi, plainText } from "./ansi";
import { Button } from "./Button";
import { useKeys } from "./Shell";
import { useScrollHold } from "./scrollHold";
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

type Props = {
  label: string;
  lines: LogRow[];
  /** Lines that this page let go, before the first one. */
  cut?: number;
  /** Said before the first line, where there may be earlier ones elsewhere. */
  before?: string;
  /** What times are counted from; without it they are by the clock. */
  start?: string;
  /** Said when there is no line. */
  empty: string;
  /** Said under the last line, once there will be no more. */
  end?: string;
  name: string;
  /** Stands at the left of the tools. */
  head?: ReactNode;
  /** The id of the line to go to once it is there. */
  target?: string;
  /** The address of a line, if it has one. */
  link?: (line: LogRow) => string | undefined;
};

/**
 * A log of any length. It follows the end until the user scrolls up, and shows all content as text.
 */
export function LogView(props: Props) {
  const { label, before, start, empty, end, name, head, target, link } = props;
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const [seen, setSeen] = useState(0);
  const [wrap, setWrap] = useState(true);
  const [clockTimes, setClockTimes] = useState(false);
  const { lines, cut, more } = useScrollHold(props.lines, props.cut ?? 0, !following);
  const find = useFind(lines);
  const byHand = useRef(false);
  const aimed = useMemo(
    () => (target ? lines.findIndex((line) => line.id === target) : -1),
    [lines, target],
  );
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => 19,
    overscan: 12,
    // jsdom and a hidden pane have no size; some lines are drawn all the same.
    initialRect: { width: 800, height: 600 },
  });

  const pause = () => {
    setFollowing(false);
    setSeen(lines.length);
  };
  const stop = (line: number) => {
    pause();
    byHand.current = false;
    virtual.scrollToIndex(line, { align: "center" });
  };

  // By the last line: of a log that lets lines go, the number of lines stays the same.
  const last = lines.at(-1);
  useLayoutEffect(() => {
    if (following && last) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [following, last, virtual]);
  const hit = find.line === undefined ? undefined : lines[find.line];
  useEffect(() => {
    if (find.line !== undefined) stop(find.line);
  }, [hit]);
  const found = aimed >= 0;
  useEffect(() => {
    if (found) stop(aimed);
  }, [found]);

  const scrolled = (event: UIEvent<HTMLDivElement>) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    const atEnd = scrollHeight - scrollTop - clientHeight < 24;
    // Going to a line near the end gets there too, and must not be carried on from it.
    if (atEnd && byHand.current) setFollowing(true);
  };
  const touched = (pauses: boolean) => {
    byHand.current = true;
    if (pauses && following) pause();
  };
  const follow = () => (following ? pause() : setFollowing(true));
  useKeys({
    f: follow,
    t: () => start && setClockTimes(!clockTimes),
    w: () => setWrap(!wrap),
  });
  const news = lines.length + more - seen;

  return (
    <section className="logbox" aria-label={label}>
      <div className="sub">
        {head}
        <Tools find={find} wrap={wrap} setWrap={setWrap} lines={lines} name={name} />
      </div>
      <div
        className="log"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-label={label}
        aria-live="off"
        data-wrap={wrap ? "on" : "off"}
        onScroll={scrolled}
        onWheel={(event) => touched(event.deltaY < 0)}
        onKeyDown={(event) => touched(["ArrowUp", "PageUp", "Home"].includes(event.key))}
        onPointerDown={() => touched(true)}
      >
        {lines.length === 0 ? <p className="t3 px-4 font-sans">{empty}</p> : null}
        <div className="logs" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const line = lines[item.index] as LogRow;
            return (
              <div
                key={item.key}
                data-index={item.index}
                ref={virtual.measureElement}
                className={`ln ${find.line === item.index || aimed === item.index ? "hit" : ""}`}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <Line
                  line={line}
                  number={line.number ?? cut + item.index + 1}
                  start={clockTimes ? undefined : start}
                  cut={item.index === 0 ? cut : 0}
                  before={item.index === 0 ? before : undefined}
                  day={clockTimes || !start ? newDay(line, lines[item.index - 1]) : undefined}
                  href={link?.(line)}
                />
              </div>
            );
          })}
        </div>
        {end && lines.length > 0 ? <p className="t3 px-4 pt-1 font-sans">{end}</p> : null}
      </div>
      {!following && news > 0 ? (
        <Button small className="newlines" onClick={() => setFollowing(true)}>
          <ArrowDownToLine className="i sm" aria-hidden="true" />
          {t.newLines(news)}
        </Button>
      ) : null}
      <footer className="lf">
        <button
          type="button"
          className="row gap-1.5"
          onClick={follow}
          aria-pressed={following}
          title={following ? undefined : t.follow}
        >
          {following ? (
            <ArrowDownToLine className="i sm" aria-hidden="true" />
          ) : (
            <Pause className="i sm" aria-hidden="true" />
          )}
          {following ? t.following : t.paused}
        </button>
        <span>{t.lines(lines.length)}</span>
        {start ? (
          <button type="button" className="end" onClick={() => setClockTimes(!clockTimes)}>
            {clockTimes ? t.clock : t.since}
          </button>
        ) : null}
      </footer>
    </section>
  );
}

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

const Line = memo(function Line({ line, number, start, cut, before, day, href }: LineProps) {
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
function newDay(line: LogRow, before?: LogRow): string | undefined {
  const date = new Date(line.at);
  const known = before ? new Date(before.at) : new Date();
  if (Number.isNaN(date.getTime()) || date.toDateString() === known.toDateString())
    return undefined;
  return dates.format(date);
}

type Find = {
  text: string;
  set: (text: string) => void;
  step: (by: number) => void;
  line?: number;
  at: number;
  count: number;
};

function useFind(lines: LogRow[]): Find {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const hits = useMemo(() => {
    const wanted = text.toLowerCase();
    if (!wanted) return [];
    return lines.flatMap((line, i) =>
      plainText(line.text).toLowerCase().includes(wanted) ? [i] : [],
    );
  }, [lines, text]);
  const place = Math.min(at, Math.max(0, hits.length - 1));
  return {
    text,
    set: (next) => {
      setText(next);
      setAt(0);
    },
    step: (by) => setAt(hits.length === 0 ? 0 : (place + by + hits.length) % hits.length),
    line: hits[place],
    at: place + 1,
    count: hits.length,
  };
}

/** A line as the file has it: when, whose where several are in one, and what. */
export function formatLogRow({ at, source, text }: LogRow): string {
  return [at, source, plainText(text)].filter((part) => part !== undefined).join(" ");
}

type ToolProps = {
  find: Find;
  wrap: boolean;
  setWrap: (wrap: boolean) => void;
  lines: LogRow[];
  name: string;
};

function Tools({ find, wrap, setWrap, lines, name }: ToolProps) {
  const save = () => {
    const text = lines.map(formatLogRow).join("\n");
    const url = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${name}.log`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <div className="row end">
      {find.text ? (
        <span className="t3 s" role="status">
          {t.found(find.at, find.count)}
        </span>
      ) : null}
      <div className="in sm w-40">
        <Search className="i sm t3" aria-hidden="true" />
        <input
          type="search"
          data-find
          placeholder={t.find}
          aria-label={t.find}
          value={find.text}
          onChange={(event) => find.set(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") find.step(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </div>
      <Button
        small
        icon
        look="ghost"
        aria-label={t.wrap}
        title={t.wrap}
        aria-pressed={wrap}
        onClick={() => setWrap(!wrap)}
      >
        <WrapText className="i sm" aria-hidden="true" />
      </Button>
      <Button small icon look="ghost" aria-label={t.download} title={t.download} onClick={save}>
        <Download className="i sm" aria-hidden="true" />
      </Button>
    </div>
  );
}
