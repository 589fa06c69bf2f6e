import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ask, client, type Schemas } from "@/api/client";
import { accessRequests } from "@/api/queries/talk";
import { viewedName } from "@/api/viewAs";
import { BidiSafe } from "@/components/BidiSafe";
import { Button, buttonClass } from "@/components/Button";
import { describeError, ErrorState } from "@/components/States";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { inboxTexts as t } from "@/pages/notices/inboxTexts";

type Request = Schemas["AccessRequest"];

/** What people asked for and wait for. Granting is done where all granting is done. */
export function Requests() {
  const query = useQuery(accessRequests);
  if (query.isError)
    return (
      <ErrorState what={t.requestsUnread} error={query.error} retry={() => void query.refetch()} />
    );
  if (!query.data || query.data.items.length === 0) return null;
  return (
    <section className="requests" aria-label={t.requests}>
      <h2>{t.requests}</h2>
      <p className="hint">{t.closeHint}</p>
      <ul className="notices">
        {query.data.items.map((one) => (
          <Line key={one.id} request={one} />
        ))}
      </ul>
    </section>
  );
}

function Line({ request }: { request: Request }) {
  const { id, user, wanted, note, at } = request;
  const cache = useQueryClient();
  const say = useToast();
  const close = useMutation({
    mutationFn: () =>
      ask(client.DELETE("/api/v1/access-requests/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      say("done", t.closed(user));
      return cache.invalidateQueries({ queryKey: accessRequests.queryKey });
    },
    onError: (error) => say("failed", describeError(error).message),
  });
  return (
    <li>
      <div className="grow min-w-0">
        <b>{t.wants(user, wanted)}</b>
        {note ? (
          <p className="t2 body3">
            <BidiSafe text={note} />
          </p>
        ) : null}
      </div>
      <Time at={at} className="t3 s nw" />
      {viewedName() ? null : (
        <>
          <Grant request={request} />
          <Button
            small
            aria-label={t.closeOf(user)}
            busy={close.isPending && t.closing}
            onClick={() => close.mutate()}
          >
            {t.close}
          </Button>
        </>
      )}
    </li>
  );
}

/** To the grid of access, filtered by what was asked for; a role is given at the person. */
function Grant({ request: { user, object } }: { request: Request }) {
  const name = object.split("/")[1];
  const look = { className: buttonClass("ink", true), "aria-label": t.grantOf(user) };
  if (object === "admin")
    return (
      <Link to="/users" search={{ open: user }} {...look}>
        {t.grant}
      </Link>
    );
  return (
    <Link to="/teams/access" search={name ? { q: name } : {}} {...look}>
      {t.grant}
    </Link>
  );
}
