import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Deployment, type Schemas } from "@/api/client";
import { IdempotencyKeys } from "@/api/idempotency";
import { verdicts } from "@/api/queries/talk";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError, EmptyState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { verdictTexts as t } from "@/pages/deployment/verdictTexts";
import { ReadFailed } from "./ReadFailed";
import { stateOfVerdict } from "./verdictState";
import "./comments.css";

type Said = Schemas["Verdict"];
type Outcome = Schemas["VerdictOutcome"];

/** What QA says about the images that run, and a place for those who may say it. */
export default function Verdict({ deployment: { id } }: { deployment: Deployment }) {
  const query = useQuery(verdicts(id));
  const all = query.data;
  return (
    <section className="pane comments" aria-label={t.title}>
      <ReadFailed what={t.unread} query={query} />
      {query.isPending ? <Skeletons count={3} height={56} /> : null}
      {all?.items.length === 0 ? <Nothing may={all.may} /> : null}
      {all?.items.map((one) => (
        <One key={one.id} verdict={one} />
      ))}
      {all?.may ? <Give id={id} set={all.digest_set} /> : null}
      {all?.refusal ? <p className="t2">{all.refusal}</p> : null}
    </section>
  );
}

/** Whoever may say the first one needs no picture of an empty page above the place for it. */
function Nothing({ may }: { may: boolean }) {
  if (may) return <p className="t2">{t.emptyMore}</p>;
  return <EmptyState title={t.empty}>{t.emptyMore}</EmptyState>;
}

function One({ verdict }: { verdict: Said }) {
  return (
    <article className="comment" aria-label={t.by(verdict.outcome, verdict.author)}>
      <header className="row wrap">
        <StatusMark state={stateOfVerdict(verdict)} small>
          {t.by(verdict.outcome, verdict.author)}
        </StatusMark>
        <Time at={verdict.at} className="t3 s" alone />
        <span className="t3 s end mono">{t.of(verdict.digest_set)}</span>
      </header>
      {verdict.voided_reason ? <p className="t2">{t.void(verdict.voided_reason)}</p> : null}
      {verdict.remarks ? (
        <p className="whitespace-pre-wrap wrap-anywhere">
          <BidiSafe text={verdict.remarks} />
        </p>
      ) : null}
      <ul className="t2 s" aria-label={t.images}>
        {verdict.images?.map((one) => (
          <li key={one.image + one.digest} className="wrap-anywhere">
            {one.image} <span className="t3">{one.digest.slice(0, 19)}</span> {attachment(one)}
          </li>
        ))}
      </ul>
    </article>
  );
}

function attachment({ attached_at, problem }: Schemas["VerdictImage"]): string {
  if (attached_at) return t.attached;
  return problem ? t.unattached(problem) : t.attaching;
}

function Give({ id, set }: { id: string; set: string }) {
  const field = useId();
  const cache = useQueryClient();
  const [once] = useState(() => new IdempotencyKeys());
  // What a tester judges is what ran when they began.
  const [tested, setTested] = useState(set);
  const [outcome, setOutcome] = useState<Outcome>();
  const [remarks, setRemarks] = useState("");
  const send = useMutation({
    mutationFn: (outcome: Outcome) => {
      const body = { outcome, remarks, digest_set: tested };
      const params = { path: { id }, header: once.header(body) };
      return ask(client.POST("/api/v1/deployments/{id}/verdicts", { params, body }));
    },
    onError: (error) => once.failed(error),
    onSuccess: () => {
      once.done();
      setRemarks("");
      setOutcome(undefined);
    },
    onSettled: () => void cache.invalidateQueries({ queryKey: ["deployment", id] }),
  });
  const missing = !outcome
    ? t.chooseFirst
    : outcome === "remarks" && !remarks.trim()
      ? t.remarksHint
      : undefined;
  if (tested !== set)
    return (
      <div className="field">
        <p role="alert">{t.changed}</p>
        <span>
          <Button onClick={() => setTested(set)}>{t.test}</Button>
        </span>
      </div>
    );
  return (
    <div className="field">
      <fieldset className="row wrap">
        <legend className="lbl">{t.choose}</legend>
        {(Object.keys(t.outcomes) as Outcome[]).map((one) => (
          <label key={one} className="row">
            <input
              type="radio"
              name={`${field}-outcome`}
              checked={outcome === one}
              onChange={() => setOutcome(one)}
            />
            {t.outcomes[one]}
          </label>
        ))}
      </fieldset>
      <label className="lbl" htmlFor={field}>
        {t.remarks}
      </label>
      <textarea
        id={field}
        className="area"
        rows={3}
        maxLength={2000}
        value={remarks}
        aria-describedby={`${field}-more`}
        onChange={(event) => setRemarks(event.target.value)}
      />
      <span id={`${field}-more`} className="hint" role="status">
        {send.data ? t.sent(send.data.outcome) : t.remarksHint}
      </span>
      {send.error ? <Refusal>{describeError(send.error).message}</Refusal> : null}
      <span>
        <Button
          act={t.send}
          look="ink"
          reason={missing}
          busy={send.isPending && t.sending}
          onClick={() => outcome && send.mutate(outcome)}
        >
          {t.send}
        </Button>
      </span>
    </div>
  );
}
