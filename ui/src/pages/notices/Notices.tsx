import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AtSign, BellRing, type LucideIcon, MessageSquare, Timer, UserCheck } from "lucide-react";
import { ask, client, type Schemas } from "@/api/client";
import { me } from "@/api/queries/common";
import { inbox } from "@/api/queries/inbox";
import { viewedName } from "@/api/viewAs";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Glyph } from "@/components/Glyph";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { formatAgo } from "@/components/time";
import { inboxTexts as t } from "@/pages/notices/inboxTexts";
import { texts } from "@/texts";
import { groupNotices, type NoticeGroup } from "./groupNotices";
import { Requests } from "./Requests";
import "./notices.css";

type Notice = Schemas["PersonNotice"];
type Mark = { ids: string[]; read: boolean };

/** What concerns the person, the newest first, and for admins what others asked them for. */
export function Notices() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  const query = useQuery(inbox);
  const mark = useMark();
  const unread = query.data?.items.filter((one) => !one.read).map((one) => one.id) ?? [];
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        {unread.length > 0 && !viewedName() ? (
          <div className="end row">
            <Button
              act={t.readAll}
              busy={mark.isPending && t.reading}
              onClick={() => mark.mutate({ ids: unread, read: true })}
            >
              {t.readAll}
            </Button>
          </div>
        ) : null}
      </Top>
      <div className="body" aria-busy={query.isPending}>
        {person.role === "admin" ? <Requests /> : null}
        {query.isError ? (
          <ErrorState
            what={t.unread}
            error={query.error}
            retry={() => void query.refetch()}
            stale={query.data ? texts.stale(formatAgo(query.dataUpdatedAt, Date.now())) : undefined}
          />
        ) : null}
        {query.isPending ? <Skeletons count={6} height={56} /> : null}
        {query.data?.items.length === 0 ? (
          <EmptyState title={t.empty}>{t.emptyMore}</EmptyState>
        ) : null}
        <ul className="notices">
          {groupNotices(query.data?.items ?? []).map((group) => (
            <Line key={group.newest.id} group={group} mark={mark.mutate} />
          ))}
        </ul>
      </div>
    </>
  );
}

function useMark() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (body: Mark) => ask(client.PUT("/api/v1/me/inbox", { body })),
    onSuccess: (now) => cache.setQueryData(inbox.queryKey, now),
  });
}

/** Trouble has the shape and the colour that its state has everywhere. */
const states: Partial<Record<Notice["kind"], string>> = {
  failed: "failed",
  stuck: "stuck",
  degraded: "warn",
};

const icons: Partial<Record<Notice["kind"], LucideIcon>> = {
  mention: AtSign,
  comment: MessageSquare,
  expiring: Timer,
  access_asked: UserCheck,
  access_answered: UserCheck,
  alert: BellRing,
};

function Line({ group, mark }: { group: NoticeGroup; mark: (what: Mark) => void }) {
  const { ids } = group;
  const { kind, subject, body, link, at, read } = group.newest;
  const Icon = icons[kind];
  const label = read ? t.markUnread : t.markRead;
  const seen = () => {
    if (!read && !viewedName()) mark({ ids, read: true });
  };
  return (
    <li data-unread={read ? undefined : true}>
      <span className="kind" title={t.kinds[kind]} data-st={states[kind]}>
        {Icon ? <Icon className="i" aria-hidden="true" /> : <Glyph state={states[kind] ?? kind} />}
        <span className="vh">{t.kinds[kind]}</span>
      </span>
      <div className="grow min-w-0">
        {link ? (
          <Link to={link} className="subject" onClick={seen}>
            <BidiSafe text={subject} />
          </Link>
        ) : (
          <span className="subject">
            <BidiSafe text={subject} />
          </span>
        )}
        {ids.length > 1 ? <span className="t2 s"> {t.times(ids.length)}</span> : null}
        {read ? null : <span className="vh">{t.isNew}</span>}
        {body ? (
          <p className="t2 body3">
            <BidiSafe text={body} />
          </p>
        ) : null}
      </div>
      <Time at={at} className="t3 s nw" />
      {viewedName() ? null : (
        <Button
          small
          look="ghost"
          aria-label={t.markOf(label, subject)}
          onClick={() => mark({ ids, read: !read })}
        >
          {label}
        </Button>
      )}
    </li>
  );
}
