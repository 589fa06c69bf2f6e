import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { ask, client, type Schemas } from "@/api/client";
import { deliveries } from "@/api/queries/notices";
import { Button } from "@/components/Button";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { formatExact } from "@/components/time";
import { useRefresh } from "@/forms/useSaved";
import { noticeTexts, deliveryTexts as t } from "@/pages/webhooks/noticeTexts";

type Delivery = Schemas["Delivery"];

const looks: Record<Delivery["status"], string> = {
  waiting: "queued",
  sent: "done",
  failed: "failed",
};

/** What came of it: what went wrong, or the status that was answered. */
export const outcomeText = (one: Delivery): string =>
  one.error || (one.answer ? t.answered(one.answer) : t.noAnswer);

const eventName = (event: string) =>
  (noticeTexts.events as Record<string, string | undefined>)[event] ?? t.test;

/** What was sent to a webhook, newest first; each can be sent again. */
export function Deliveries({ name }: { name: string }) {
  const query = useInfiniteQuery(deliveries(name));
  const all = query.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <section className="col gap-2" aria-busy={query.isPending}>
      <h2>{t.title}</h2>
      <span className="hint">{t.kept}</span>
      {query.isPending ? <Skeletons count={4} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data && all.length === 0 ? <p className="t2">{t.none}</p> : null}
      {all.map((one) => (
        <Row key={one.id} name={name} one={one} />
      ))}
      {query.hasNextPage ? (
        <span>
          <Button small onClick={() => void query.fetchNextPage()}>
            {t.older}
          </Button>
        </span>
      ) : null}
    </section>
  );
}

function Row({ name, one }: { name: string; one: Delivery }) {
  return (
    <div className="col gap-1 border-line-faint border-b py-2">
      <span className="row">
        <StatusMark state={looks[one.status]}>{t.states[one.status]}</StatusMark>
        <b className="grow">{eventName(one.event)}</b>
        {one.status === "waiting" ? null : <Again name={name} one={one} />}
      </span>
      <span className="t2 s">
        <Time at={one.created_at} /> · {t.attempts(one.attempts)}
        {one.attempts > 0 ? ` · ${outcomeText(one)}` : ""}
        {one.due_at ? ` · ${t.next} ${formatExact(one.due_at)}` : ""}
      </span>
      <details className="fold s">
        <summary>{t.body}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keys too. */}
        <pre className="mono max-h-60 overflow-auto break-all whitespace-pre-wrap" tabIndex={0}>
          {formatBody(one.body)}
        </pre>
      </details>
    </div>
  );
}

/** JSON on lines of its own; anything else as it was sent. */
export function formatBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function Again({ name, one }: { name: string; one: Delivery }) {
  const say = useToast();
  const refresh = useRefresh(["deliveries"]);
  const act = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/webhooks/{name}/deliveries/{id}/redeliver", {
          params: { path: { name, id: one.id } },
        }),
      ),
    onSuccess: (sent) =>
      sent.status === "sent"
        ? say("done", t.sentAgain)
        : say("failed", t.notSentAgain(outcomeText(sent))),
    onError: (error) => say("failed", describeError(error).message),
    onSettled: refresh,
  });
  return (
    <Button
      small
      aria-label={t.againOf(eventName(one.event))}
      busy={act.isPending && t.sending}
      onClick={() => act.mutate()}
    >
      {t.again}
    </Button>
  );
}
