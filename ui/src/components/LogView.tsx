import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine } from "lucide-react";
import { type CSSProperties, type ReactNode, useMemo, useRef, useState } from "react";
import { logTexts as t } from "@/components/logTexts";
import "./log.css";
import { Button } from "./Button";
import { LogFooter } from "./LogFooter";
import { LogHistogram } from "./LogHistogram";
import type { LogRow } from "./LogLine";
import { LogRowView } from "./LogRowView";
import { Tools, type WholeLog } from "./LogTools";
import { useKeys } from "./Shell";
import { useScrollHold } from "./scrollHold";
import { useFollowing } from "./useFollowing";
import { type FarSearch, useFind } from "./useLogFind";
import { useHistogram } from "./useLogHistogram";
import { useLogLayout } from "./useLogLayout";

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
  /** How often somebody was sent to that line; each time leads there again. */
  visit?: number;
  /** The number of the line that says why it failed. */
  cause?: number;
  /** The address of a line, if it has one. */
  link?: (line: LogRow) => string | undefined;
  /** Goes to that address without leaving the page. */
  go?: (line: LogRow) => void;
  /** Whose lines can be in it, in an order that stays: each has a colour of its own. */
  sources?: string[];
  /** Where lines are searched that are not here. */
  far?: FarSearch;
  /** Where all lines are to be had that the filters let through. */
  whole?: WholeLog;
};

/** What names a line in an address. */
function idOf({ id, number }: LogRow): string | undefined {
  return id ?? (number === undefined ? undefined : String(number));
}

/** The widest name of a service that is written in full, in characters. */
const WIDEST = 16;

/**
 * A log of any length. It follows the end until the user scrolls up, and shows all content as text.
 */
export function LogView(props: Props) {
  const { label, before, start, empty, end, name, head, target, visit, cause, link, go } = props;
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const [wrap, setWrap] = useState(true);
  const [clockTimes, setClockTimes] = useState(false);
  const [raw, setRaw] = useState(false);
  const { lines, cut, more } = useScrollHold(props.lines, props.cut ?? 0, !following);
  const find = useFind(lines, props.far);
  const layout = useLogLayout(lines, find, raw);
  const { scan, rows, errors, found } = layout;
  const tones = useTones(props.sources, scan.last);
  const aimed = useMemo(
    () => (target ? lines.findIndex((line) => idOf(line) === target) : -1),
    [lines, target],
  );
  const virtual = useVirtualizer({
    count: rows.at.length,
    getScrollElement: () => box.current,
    estimateSize: () => 19,
    overscan: 12,
    // jsdom and a hidden pane have no size; some lines are drawn all the same.
    initialRect: { width: 800, height: 600 },
  });

  const follow = useFollowing({ following, setFollowing, lines, layout, virtual, aimed, visit });
  const times = useHistogram(layout, find.hits, virtual, follow.goTo);
  useKeys({
    f: follow.toggle,
    t: () => start && setClockTimes(!clockTimes),
    w: () => setWrap(!wrap),
    v: () => setRaw(!raw),
    p: (event) => errors.count > 0 && errors.step(event.shiftKey ? -1 : 1),
    m: () => find.text && find.setOnly(!find.only),
    s: () => layout.groupable && layout.setGrouped(!layout.grouped),
    z: () => layout.grouped && layout.toggleGroups(),
  });
  const hits = find.only && !find.far ? find.hits : undefined;
  const news =
    (hits ? hits.slice(follow.seen).filter(Boolean).length : lines.length - follow.seen) + more;
  const marked = [found.line, errors.line, aimed].map((index) => layout.rowOf(index ?? -1));

  return (
    <section className="logbox" aria-label={label}>
      <div className="sub">
        {head}
        <Tools {...{ find, layout, raw, setRaw, wrap, setWrap, lines, name, whole: props.whole }} />
      </div>
      {times ? <LogHistogram {...times} /> : null}
      <div
        className="log"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-label={label}
        aria-live="off"
        data-wrap={wrap ? "on" : "off"}
        data-levels={scan.leveled ? "on" : undefined}
        data-sources={tones.size > 1 && !layout.grouped ? "on" : undefined}
        data-times={start && !clockTimes ? "since" : "clock"}
        style={{ "--sources": `${widthOf(tones)}ch` } as CSSProperties}
        onScroll={follow.scrolled}
        onWheel={(event) => follow.touched(event.deltaY < 0)}
        onKeyDown={(event) => follow.touched(["ArrowUp", "PageUp", "Home"].includes(event.key))}
        onPointerDown={() => follow.touched(true)}
      >
        {rows.at.length === 0 ? (
          <p className="t3 px-4 font-sans">{lines.length > 0 ? t.noMatch(find.text) : empty}</p>
        ) : null}
        <div className="logs" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <LogRowView
              key={item.key}
              row={item.index}
              measure={virtual.measureElement}
              top={item.start}
              marked={marked.includes(item.index)}
              {...{ layout, find, tones, cut, before, cause, link, go, raw }}
              start={clockTimes ? undefined : start}
            />
          ))}
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
        shown={hits ? rows.lines : lines.length}
        clockTimes={clockTimes}
        onTimes={start ? () => setClockTimes(!clockTimes) : undefined}
      />
    </section>
  );
}

/** A number for each source, which stays while the log grows. One alone needs no column. */
function useTones(sources: string[] | undefined, last: Map<string, LogRow>): Map<string, number> {
  const known = sources ?? [...last.keys()].filter(Boolean);
  const names = known.join();
  return useMemo(() => new Map(known.map((source, at) => [source, at])), [names]);
}

function widthOf(tones: Map<string, number>): number {
  return Math.min(WIDEST, Math.max(0, ...[...tones.keys()].map(({ length }) => length))) + 2;
}
