import { useNow } from "./Time";
import { agoOrAhead, exact } from "./time";

/** When something ends or is tried next: "in 5 d", or how long ago; the exact moment on hover. */
export function Ahead({ at, className }: { at: string; className?: string }) {
  const now = useNow(10);
  return (
    <time dateTime={at} title={exact(at)} className={className}>
      {agoOrAhead(at, now)}
    </time>
  );
}
