import type { UseQueryResult } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { useNow } from "@/components/Time";
import { tagTexts } from "@/components/tagTexts";
import { formatShortAgo } from "@/components/time";
import { texts } from "@/texts";

const t = tagTexts;

/** Below a service: that its registry did not answer, so that its tags are old ones or none. */
export function TagsUnread({ read }: { read?: UseQueryResult<Schemas["TagList"]> }) {
  const now = useNow(10);
  const list = read?.data;
  const said = list?.stale
    ? t.stale(list.stale_reason ?? t.staleReason, formatShortAgo(list.read_at, now))
    : read?.error && `${t.unread} ${describeError(read.error).message}`;
  if (!said) return null;
  return (
    <div className="was s" role="status">
      <StatusMark state="unknown" small>
        <span className="vh">{texts.states.unknown}</span>
      </StatusMark>
      <span className="t2 grow basis-0">
        <BidiSafe text={said} />
      </span>
      <button type="button" className="link" onClick={() => void read?.refetch()}>
        {texts.tryAgain}
      </button>
    </div>
  );
}
