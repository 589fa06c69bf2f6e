import { ArrowDownToLine, Pause } from "lucide-react";
import { logTexts } from "@/components/logTexts";

const t = logTexts;

type Props = {
  following: boolean;
  onFollow: () => void;
  count: number;
  /** How many of them are shown. */
  shown: number;
  /** Whether times are by the clock, rather than since the start. */
  clockTimes: boolean;
  /** Absent where there is no start to count from. */
  onTimes?: () => void;
};

/** Below a log: whether it follows the end, how many lines it has, and how times are said. */
export function LogFooter({ following, onFollow, count, shown, clockTimes, onTimes }: Props) {
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
      <span>{shown === count ? t.lines(count) : t.linesOf(shown, count)}</span>
      {onTimes ? (
        <button type="button" className="end" onClick={onTimes}>
          {clockTimes ? t.clock : t.since}
        </button>
      ) : null}
    </footer>
  );
}
