import type { Schemas } from "@/api/client";
import { tagTexts } from "@/components/tagTexts";
import { texts } from "@/texts";
import { Button } from "./Button";
import { describeError } from "./States";
import { StatusMark } from "./Status";
import { useNow } from "./Time";
import { formatExact, formatShortAgo } from "./time";

const t = tagTexts;

type TagList = Schemas["TagList"];

/** An error with a retry button; tags that were loaded before stay in the list. */
export function TagError({
  what,
  error,
  retry,
}: {
  what: string;
  error: unknown;
  retry: () => void;
}) {
  return (
    <div className="row px-3 py-2" role="alert">
      <StatusMark state="failed">
        <span className="vh">{texts.states.failed}</span>
      </StatusMark>
      <span className="grow">
        {what} {describeError(error).message}
      </span>
      <Button small onClick={retry}>
        {texts.tryAgain}
      </Button>
    </div>
  );
}

/** The number of tags and the age of the list. */
export function TagFooter({
  list,
  refresh,
  busy,
}: {
  list: TagList;
  refresh: () => void;
  busy: boolean;
}) {
  const now = useNow();
  const age = list.read_at ? formatShortAgo(list.read_at, now) : "";
  const said = list.stale
    ? t.stale(list.stale_reason ?? t.staleReason, age)
    : age === texts.time.now || !age
      ? t.fresh
      : t.age(age);
  return (
    <div className="pf s t2">
      <span>
        {t.count(list.matching, list.total)}
        {list.pattern ? (
          <>
            {" "}
            {t.match} <span className="mono">{list.pattern}</span>
          </>
        ) : null}
      </span>
      <span
        className="end"
        role="status"
        title={list.read_at ? formatExact(list.read_at) : undefined}
      >
        {said}
      </span>
      <Button small look="ghost" busy={busy && "…"} onClick={refresh}>
        {t.refresh}
      </Button>
    </div>
  );
}
