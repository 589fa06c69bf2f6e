import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, isNotFound, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { TimeAhead } from "@/components/TimeAhead";
import { useToast } from "@/components/Toast";
import { formatExact } from "@/components/time";
import { ConfirmDelete } from "@/forms/ConfirmDelete";
import { settingsTexts } from "@/pages/settings/settingsTexts";

const t = settingsTexts.certificates;
const KEY = ["certificate-authority"];

/** The installation's own authority: absent, or with its fingerprint and how to trust it. */
export function Authority() {
  const cache = useQueryClient();
  const say = useToast();
  const query = useQuery({
    queryKey: KEY,
    // Absent is an answer here, not a failure.
    queryFn: async () => {
      try {
        return await ask(client.GET("/api/v1/certificate-authority"));
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
  });
  const refresh = () => void cache.invalidateQueries({ queryKey: KEY });
  const make = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/certificate-authority")),
    onSuccess: () => say("done", t.made),
    onError: (error) => say("failed", describeError(error).message),
    onSettled: refresh,
  });
  return (
    <section className="col gap-3">
      <div>
        <h2>{t.authority}</h2>
        <p className="t2">{t.authorityWhat}</p>
      </div>
      {query.isPending ? <Skeletons count={2} /> : null}
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data === null ? (
        <div>
          <Button act={t.make} busy={make.isPending && t.making} onClick={() => make.mutate()}>
            {t.make}
          </Button>
        </div>
      ) : null}
      {query.data ? <Known authority={query.data} refresh={refresh} /> : null}
    </section>
  );
}

type KnownProps = { authority: Schemas["CertificateAuthority"]; refresh: () => void };

function Known({ authority, refresh }: KnownProps) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <dl className="kv">
        <dt>{t.subject}</dt>
        <dd>{authority.subject}</dd>
        <dt>{t.until}</dt>
        <dd>
          {formatExact(authority.not_after)} <TimeAhead at={authority.not_after} className="t2" />
        </dd>
        <dt>{t.print}</dt>
        <dd className="row">
          <span className="mono tr">{authority.fingerprint}</span>
          <CopyButton text={authority.fingerprint} what={t.print} />
        </dd>
      </dl>
      <div className="row">
        <a className="btn" href="/trust">
          {t.trust}
        </a>
        <Button act={t.forget} look="danger" onClick={() => setAsking(true)}>
          {t.forget}
        </Button>
      </div>
      {asking ? (
        <ConfirmDelete
          name={t.authority}
          title={t.forgetTitle}
          remove={() => ask(client.DELETE("/api/v1/certificate-authority"))}
          done={refresh}
          close={() => setAsking(false)}
        >
          <p>{t.forgetBody}</p>
        </ConfirmDelete>
      ) : null}
    </>
  );
}
