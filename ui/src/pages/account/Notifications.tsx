import { useQuery } from "@tanstack/react-query";
import { client } from "@/api/client";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { readTagged } from "@/forms/etag";
import { mailTexts as t } from "@/pages/webhooks/noticeTexts";
import { Mail } from "./Mail";

/** What the person is mailed. It is read once, and again after it was saved. */
export function Notifications() {
  const query = useQuery({
    queryKey: ["opened", "me", "notifications"],
    queryFn: () => readTagged(client.GET("/api/v1/me/notifications")),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnReconnect: false,
  });
  const reload = () => void query.refetch();
  return (
    <section aria-label={t.title} aria-busy={query.isPending}>
      <h2>{t.title}</h2>
      <p className="hint">{t.hint}</p>
      {query.isPending ? <Skeletons count={2} /> : null}
      {query.isError ? <ErrorState what={t.unread} error={query.error} retry={reload} /> : null}
      {query.data?.value.available === false ? (
        <StatusMark state="warn">{t.unavailable}</StatusMark>
      ) : null}
      {query.data ? <Mail key={query.dataUpdatedAt} stored={query.data} reload={reload} /> : null}
    </section>
  );
}
