import { useSyncExternalStore } from "react";
import { ago, exact, shortAgo } from "./time";

let now = Date.now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of watchers) each();
  }, 1000);
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
  return useSyncExternalStore(watch, () => Math.floor(now / (every * 1000)) * every * 1000 || now);
}

type Props = {
  at: string;
  short?: boolean;
  /** How often it is told anew, in seconds. */
  every?: number;
  className?: string;
  role?: "cell";
};

/** A relative time with the exact one on hover. */
export function Time({ at, short, every = 1, className, role }: Props) {
  const current = Math.max(useNow(every), Date.now() - 1000);
  return (
    <time dateTime={at} title={exact(at)} className={className} role={role}>
      {short ? shortAgo(at, current) : ago(at, current)}
    </time>
  );
}
