import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ask, client, type Schemas } from "@/api/client";
import { reviews } from "@/api/queries/notices";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { shortCommit } from "@/components/commit";
import { Refusal } from "@/components/Field";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { ruleTexts as t } from "@/pages/rules/ruleTexts";

type Review = Schemas["Review"];

const looks: Record<Review["state"], string> = {
  waiting: "queued",
  creating: "applying",
  ready: "ready",
  failed: "failed",
  removed: "removed",
};

/** The last pull requests of a rule, what became of each, and what the code host refuses. */
export function Reviews({ name }: { name: string }) {
  const query = useQuery(reviews(name));
  return (
    <section className="col gap-2" aria-busy={query.isPending}>
      <h2>{t.reviews}</h2>
      {query.isPending ? <Skeletons count={4} /> : null}
      {query.isError ? (
        <ErrorState what={t.reviewsUnread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data?.rule.refusal ? (
        <Refusal>
          <BidiSafe text={t.refused(query.data.rule.refusal)} />
        </Refusal>
      ) : null}
      {query.data?.reviews.length === 0 ? <p className="t2">{t.noReviews}</p> : null}
      {query.data?.reviews.map((one) => (
        <Row key={one.key} one={one} rule={name} />
      ))}
    </section>
  );
}

function Row({ one, rule }: { one: Review; rule: string }) {
  return (
    <div className="col gap-1 border-line-faint border-b py-2">
      <span className="row">
        <StatusMark state={looks[one.state]}>
          {one.awaits_approval ? t.awaitsApproval : t.states[one.state]}
        </StatusMark>
        {one.deployment_id ? (
          <Link className="link grow" to="/d/$id/{-$tab}" params={{ id: one.deployment_id }}>
            {one.deployment}
          </Link>
        ) : (
          <span className="grow">{one.deployment}</span>
        )}
      </span>
      <span className="s">
        <BidiSafe text={one.title || one.key} />
      </span>
      <span className="t2 s">
        <span className="mono">
          <BidiSafe text={one.branch} /> → {one.tag}
        </span>{" "}
        · <Time at={one.changed_at} />
        {one.link ? (
          <>
            {" "}
            ·{" "}
            <a className="link" href={one.link} target="_blank" rel="noreferrer">
              {t.request}
            </a>
          </>
        ) : null}
      </span>
      {[one.detail, one.remark].filter(Boolean).map((text) => (
        <span key={text} className="s">
          <BidiSafe text={text ?? ""} />
        </span>
      ))}
      {one.awaits_approval && one.commit ? (
        <Approve rule={rule} review={one.key} commit={one.commit} />
      ) : null}
    </div>
  );
}

type ApproveProps = { rule: string; review: string; commit: string };

/** Lets a fork's commit be deployed: exactly the one that is shown, and none that came meanwhile. */
function Approve({ rule, review, commit }: ApproveProps) {
  const cache = useQueryClient();
  const approve = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/rules/{name}/approvals", {
          params: { path: { name: rule } },
          body: { key: review, commit },
        }),
      ),
    onSettled: () => cache.invalidateQueries({ queryKey: ["reviews", rule] }),
  });
  const label = t.approve(shortCommit(commit));
  return (
    <span className="col gap-1">
      <span className="t2 s">{t.approveHint}</span>
      <span className="row">
        <Button
          small
          aria-label={`${label}, ${review}`}
          busy={approve.isPending && t.approving}
          onClick={() => approve.mutate()}
        >
          {label}
        </Button>
      </span>
      {approve.isError ? <Refusal>{describeError(approve.error).message}</Refusal> : null}
    </span>
  );
}
