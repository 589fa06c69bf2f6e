import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine } from "lucide-react";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { logTexts } from "@/components/logTexts";
import { texts } from "@/texts";
import "./log.css";
import { plainText } from "./ansi";
import { Button } from "./Button";
import { LogFooter } from "./LogFooter";
import { Line, type LogRow, newDay } from "./LogLine";
import { Tools } from "./LogTools";
import { sayAttempt } from "./lineNumber";
import { levelOf } from "./logLevel";
import { useKeys } from "./Shell";
import { useScrollHold } from "./scrollHold";
import { useFollowing } from "./useFollowing";
import { useLogErrors } from "./useLogErrors";
import { useFind } from "./useLogFind";

const t = texts.log;

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
  /** The id or number of the line to go to once it is there. */
  target?: string;
  /** The number of the line that says why it failed. */
  cause?: number;
  /** The address of a line, if it has one. */
  link?: (line: LogRow) => string | undefined;
  /** Goes to that address without leaving the page. */
  go?: (line: LogRow) => void;
};

/** What names a line in an address. */
function idOf({ id, number }: LogRow): string | undefined {
  return id ?? (number === undefined ? undefined : String(number));
}

/** The attempt that a line begins, unless it is the first. */
function newAttempt(line: LogRow, before?: LogRow): string | undefined {
  const attempt = line.number === undefined ? undefined : sayAttempt(line.number);
  return attempt === (before?.number === undefined ? undefined : sayAttempt(before.number))
    ? undefined
    : attempt;
}

/**
 * A log of any length. It follows the end until the user scrolls up, and shows all content as text.
 */
export function LogView(props: Props) {
  const { label, before, start, empty, end, name, head, target, cause, link, go } = props;
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const [wrap, setWrap] = useState(true);
  const [clockTimes, setClockTimes] = useState(false);
  const [raw, setRaw] = useState(false);
  const { lines, cut, more } = useScrollHold(props.lines, props.cut ?? 0, !following);
  const find = useFind(lines);
  const errors = useLogErrors(lines);
  const aimed = useMemo(
    () => (target ? lines.findIndex((line) => idOf(line) === target) : -1),
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

  const hits = [find.line, errors.line];
  const follow = useFollowing({ following, setFollowing, lines, virtual, hits, aimed });
  useKeys({
    f: follow.toggle,
    t: () => start && setClockTimes(!clockTimes),
    w: () => setWrap(!wrap),
    v: () => setRaw(!raw),
    p: (event) => errors.count > 0 && errors.step(event.shiftKey ? -1 : 1),
  });
  const news = lines.length + more - follow.seen;

  return (
    <section className="logbox" aria-label={label}>
      <div className="sub">
        {head}
        <Tools {...{ find, errors, raw, setRaw, wrap, setWrap, lines, name }} />
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
        data-levels={errors.levels ? "on" : undefined}
        data-times={start && !clockTimes ? "since" : "clock"}
        onScroll={follow.scrolled}
        onWheel={(event) => follow.touched(event.deltaY < 0)}
        onKeyDown={(event) => follow.touched(["ArrowUp", "PageUp", "Home"].includes(event.key))}
        onPointerDown={() => follow.touched(true)}
      >
        {lines.length === 0 ? <p className="t3 px-4 font-sans">{empty}</p> : null}
        <div className="logs" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const line = lines[item.index] as LogRow;
            const isCause = cause !== undefined && line.number === cause;
            return (
              <div
                key={item.key}
                data-index={item.index}
                ref={virtual.measureElement}
                className={`ln ${[...hits, aimed].includes(item.index) ? "hit" : ""} ${isCause ? "cause" : ""}`}
                data-level={errors.levels ? levelOf(plainText(line.text)) : undefined}
                title={isCause ? logTexts.cause : undefined}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <Line
                  line={line}
                  number={line.number ?? cut + item.index + 1}
                  start={clockTimes ? undefined : start}
                  cut={item.index === 0 ? cut : 0}
                  before={item.index === 0 ? before : undefined}
                  day={clockTimes || !start ? newDay(line, lines[item.index - 1]) : undefined}
                  attempt={newAttempt(line, lines[item.index - 1])}
                  href={link?.(line)}
                  go={go}
                  levels={errors.levels}
                  raw={raw}
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
      <LogFooter
        following={following}
        onFollow={follow.toggle}
        count={lines.length}
        clockTimes={clockTimes}
        onTimes={start ? () => setClockTimes(!clockTimes) : undefined}
      />
    </section>
  );
}
