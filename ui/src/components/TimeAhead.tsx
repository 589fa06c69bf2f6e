import { useNow } from "./Time";
import { formatExact, formatRelative } from "./time";

/** When something ends or is tried next: "in 5 d", or how long ago; the exact moment on hover. */
export function TimeAhead({ at, className }: { at: string; className?: string }) {
  const now = useNow(10);
  return (
    <time dateTime={at} title={formatExact(at)} className={className}>
      {formatRelative(at, now)}
    </time>
  );
}
