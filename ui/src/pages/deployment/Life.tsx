import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Bug, Copy, Hourglass, Pin, TimerReset } from "lucide-react";
import { useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { environments } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { Button, buttonClass } from "@/components/Button";
import { copyText } from "@/components/Copy";
import { Field } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { useKeys } from "@/components/Shell";
import { describe } from "@/components/States";
import { useNow } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { duration, exact } from "@/components/time";
import { deployTexts } from "@/deployTexts";
import { texts } from "@/texts";
import { useLackOn, useLackToCreate } from "../shell/useLack";

const t = deployTexts.life;
const GONE = ["removed", "canceled", "forgotten"];

/** How long it still stays, and by what rule. */
export function TimeLeft({ deployment }: { deployment: Deployment }) {
  const now = useNow();
  const { hold, expires_at: expires, lifetime_hours: hours } = deployment;
  const places = useQuery(environments);
  if (GONE.includes(deployment.status)) return null;
  if (hold)
    return (
      <span className="row" title={hold.reason}>
        <Pin className="i sm" aria-hidden="true" />
        {t.held(hold.owner, hold.until ? exact(hold.until) : "")}
        <span className="t2 tr">{hold.reason}</span>
      </span>
    );
  if (!expires) return null;
  const left = new Date(expires).getTime() - now;
  const place = places.data?.find((one) => one.name === deployment.environment);
  // Nothing is said before it is known whether visits count.
  const rule = hours && !places.isPending ? t.rule(hours, !place?.ignore_visits) : undefined;
  return (
    <span className="row" data-st={left < DAY ? "warn" : undefined} title={rule}>
      <Hourglass className="i sm" aria-hidden="true" />
      <b className={left < DAY ? "soon" : undefined}>
        {left > 0 ? t.left(duration(left)) : t.overdue}
      </b>
      {rule ? <span className="t3 hide-m">{rule}</span> : null}
    </span>
  );
}

const DAY = 86_400_000;

/** What keeps it, copies it, or makes it again. */
export function LifeActs({ deployment }: { deployment: Deployment }) {
  const { data: person } = useSuspenseQuery(me);
  const [asking, setAsking] = useState<"hold">();
  const act = useLife(deployment, () => setAsking(undefined));
  const say = useToast();
  const { hold, status } = deployment;
  const gone = GONE.includes(status);
  const reason = useLackOn(deployment);
  const capsule = async () => {
    if (await copyText(`${window.location.origin}/d/${deployment.id}/capsule`))
      say("done", t.capsuleCopied);
  };
  const may = hold && (hold.owner === person.name || person.role === "admin");
  useKeys({
    e: () => !gone && !reason && !act.isPending && act.mutate({ kind: "extend" }),
    b: (event) => event.shiftKey && void capsule(),
  });
  return (
    <>
      {gone ? (
        <Button
          look="ink"
          reason={reason ?? (deployment.scratch ? texts.page.scratchHint : undefined)}
          busy={act.isPending && t.recreating}
          onClick={() => act.mutate({ kind: "recreate" })}
        >
          {t.recreateSame}
        </Button>
      ) : null}
      <Clone of={deployment.id} />
      {gone || !deployment.expires_at ? null : (
        <Button
          reason={reason}
          busy={act.isPending && act.variables.kind === "extend" && t.extending}
          onClick={() => act.mutate({ kind: "extend" })}
        >
          <TimerReset className="i sm" aria-hidden="true" />
          {t.extend}
        </Button>
      )}
      {gone ? null : hold ? (
        <Button
          reason={reason ?? (may ? undefined : t.releaseReason(hold.owner))}
          onClick={() => act.mutate({ kind: "release" })}
        >
          {t.release}
        </Button>
      ) : (
        <Button reason={reason} onClick={() => setAsking("hold")}>
          {t.hold}
        </Button>
      )}
      <Button look="ghost" icon aria-label={t.capsule} title={t.capsule} onClick={capsule}>
        <Bug className="i sm" aria-hidden="true" />
      </Button>
      <HoldQuestion
        deployment={deployment}
        open={asking === "hold"}
        close={() => setAsking(undefined)}
        act={act}
      />
    </>
  );
}

/** To the sheet; for who may create nowhere, dashed, with the people who can change that. */
function Clone({ of }: { of: string }) {
  const inside = (
    <>
      <Copy className="i sm" aria-hidden="true" />
      {t.clone}
    </>
  );
  const reason = useLackToCreate();
  if (reason) return <Button reason={reason}>{inside}</Button>;
  return (
    <Link className={buttonClass()} to="/deployments/new" search={{ from: of }}>
      {inside}
    </Link>
  );
}

type Asked = { kind: "extend" | "release" | "recreate" | "hold"; reason?: string; until?: string };

function useLife(deployment: Deployment, done: () => void) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const say = useToast();
  const params = { path: { id: deployment.id } };
  const said = {
    extend: t.extended,
    release: t.released,
    recreate: t.recreated,
    hold: t.heldNow,
  };
  return useMutation({
    mutationFn: (asked: Asked) => {
      if (asked.kind === "extend")
        return ask(client.POST("/api/v1/deployments/{id}/extend", { params }));
      if (asked.kind === "release")
        return ask(client.DELETE("/api/v1/deployments/{id}/hold", { params }));
      if (asked.kind === "recreate")
        return ask(client.POST("/api/v1/deployments/{id}/recreate", { params, body: {} }));
      const { reason = "", until } = asked;
      return ask(client.PUT("/api/v1/deployments/{id}/hold", { params, body: { reason, until } }));
    },
    onSuccess: (told, asked) => {
      cache.setQueryData(["deployment", told.id], told);
      void cache.invalidateQueries({ queryKey: ["deployment-by-name"] });
      void cache.invalidateQueries({ queryKey: ["deployments"] });
      say("done", said[asked.kind](deployment.name));
      done();
      // Also from the record of the one that is gone, which a permalink goes on showing.
      if (asked.kind === "recreate")
        void navigate({
          to: "/deployments/$environment/$name/{-$tab}",
          params: { environment: told.environment, name: told.name, tab: "run" },
          search: {},
        });
    },
    onError: (error) => say("failed", texts.page.refused(describe(error).message)),
  });
}

type HoldProps = {
  deployment: Deployment;
  open: boolean;
  close: () => void;
  act: ReturnType<typeof useLife>;
};

function HoldQuestion({ deployment, open, close, act }: HoldProps) {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const hold = () =>
    act.mutate({
      kind: "hold",
      reason,
      until: until ? new Date(`${until}T23:59:59`).toISOString() : undefined,
    });
  return (
    <Confirm
      open={open}
      onClose={close}
      title={t.holdTitle(deployment.name)}
      acts={
        <>
          <Button onClick={close}>{texts.close}</Button>
          <Button
            look="ink"
            reason={reason.trim() ? undefined : t.reasonMissing}
            busy={act.isPending && t.holding}
            onClick={hold}
          >
            {t.hold}
          </Button>
        </>
      }
    >
      <p>{t.holdBody}</p>
      <Field
        label={t.reason}
        value={reason}
        maxLength={500}
        onChange={(event) => setReason(event.target.value)}
      />
      <Field
        label={t.until}
        type="date"
        value={until}
        onChange={(event) => setUntil(event.target.value)}
      />
    </Confirm>
  );
}
