import { useRef, useSyncExternalStore } from "react";
import { useReason } from "./Reason";
import { formatAgo, formatExact, formatShortAgo } from "./time";

let now = Date.now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function tick() {
  now = Date.now();
  for (const each of watchers) each();
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  // While nobody watches, the clock stands still: the first one must not see the past.
  if (timer === undefined) tick();
  timer ??= setInterval(tick, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The current second, one clock for the whole page. `every` is in seconds: 10 re-renders a tenth as often. */
export function useNow(every = 1): number {
  return useSyncExternalStore(
    subscribe,
    () => Math.floor(now / (every * 1000)) * every * 1000 || now,
  );
}

type Props = {
  at: string;
  short?: boolean;
  /** How often it updates, in seconds. */
  every?: number;
  className?: string;
  role?: "cell";
  /** Outside a table row: focusable, so that keyboard users get the exact time too. */
  alone?: boolean;
};

/** A relative time with the exact one on hover. */
export function Time(props: Props) {
  const { at, className, role, alone } = props;
  if (alone) return <Told {...props} />;
  return (
    <time dateTime={at} title={formatExact(at)} className={className} role={role}>
      <Passed {...props} />
    </time>
  );
}

function Passed({ at, short, every = 1 }: Props) {
  const current = Math.max(useNow(every), Date.now() - 1000);
  return short ? formatShortAgo(at, current) : formatAgo(at, current);
}

/** The exact moment on focus and on a press as well: a title is seen by the pointer only. */
function Told(props: Props) {
  const self = useRef<HTMLButtonElement>(null);
  const moment = formatExact(props.at);
  const { show, described, tip, ...events } = useReason(moment, self);
  return (
    <>
      <button
        ref={self}
        type="button"
        title={moment}
        className={props.className}
        aria-describedby={described}
        onClick={show}
        {...events}
      >
        <time dateTime={props.at}>
          <Passed {...props} />
        </time>
      </button>
      {tip}
    </>
  );
}
