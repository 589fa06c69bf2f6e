import { ArrowDownToLine, Pause } from "lucide-react";
import { texts } from "@/texts";

const t = texts.log;

type Props = {
  following: boolean;
  onFollow: () => void;
  count: number;
  /** Whether times are by the clock, rather than since the start. */
  clockTimes: boolean;
  /** Absent where there is no start to count from. */
  onTimes?: () => void;
};

/** Below a log: whether it follows the end, how many lines it has, and how times are said. */
export function LogFooter({ following, onFollow, count, clockTimes, onTimes }: Props) {
  return (
    <footer className="lf">
      <button
        type="button"
        className="row gap-1.5"
        onClick={onFollow}
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
      <span>{t.lines(count)}</span>
      {onTimes ? (
        <button type="button" className="end" onClick={onTimes}>
          {clockTimes ? t.clock : t.since}
        </button>
      ) : null}
    </footer>
  );
}
