import { useNow } from "./Time";
import { formatExact, formatRelative } from "./time";

/** A future or past time, relative: "in 5 d" or "2 h ago"; the exact time on hover. */
export function TimeAhead({ at, className }: { at: string; className?: string }) {
  const now = useNow(10);
  return (
    <time dateTime={at} title={formatExact(at)} className={className}>
      {formatRelative(at, now)}
    </time>
  );
}
