import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Bug, Copy, TimerReset } from "lucide-react";
import { useState } from "react";
import type { Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { me } from "@/api/queries/common";
import { Button, buttonClass } from "@/components/Button";
import { copyText } from "@/components/Copy";
import { usePageAction } from "@/components/pageActions";
import { useKeys } from "@/components/Shell";
import { useToast } from "@/components/Toast";
import { deployTexts } from "@/pages/deployTexts";
import { usePermissionReasonOn, useReasonNotToCreate } from "../shell/usePermissionReason";
import { activeHold } from "./activeHold";
import { HoldQuestion } from "./HoldQuestion";
import { ReadyActs } from "./ReadyActs";
import { type LifeAct, useLifetime } from "./useLifetime";
import { type Act, whyNot } from "./whyNot";

const t = deployTexts.life;

/** What keeps it, copies it, or makes it again. */
export function LifeActs({ deployment }: { deployment: Deployment }) {
  const { data: person } = useSuspenseQuery(me);
  const [asking, setAsking] = useState(false);
  const act = useLifetime(deployment, () => setAsking(false));
  const lack = usePermissionReasonOn(deployment);
  const why = (one: Act) => lack ?? whyNot(one, deployment, person);
  const parts = { deployment, act, why };
  const gone = hasEnded(deployment.status);
  return (
    <>
      {gone ? <Again {...parts} /> : null}
      <Clone of={deployment.id} />
      {gone ? null : <Extend {...parts} />}
      {gone ? null : <Hold {...parts} ask={() => setAsking(true)} />}
      <ReadyActs deployment={deployment} why={why} />
      <CapsuleLink id={deployment.id} />
      <HoldQuestion
        deployment={deployment}
        open={asking}
        close={() => setAsking(false)}
        act={act}
      />
    </>
  );
}

type Parts = { deployment: Deployment; act: LifeAct; why: (act: Act) => string | undefined };

function Again({ act, why }: Parts) {
  return (
    <Button
      look="ink"
      act={t.recreateSame}
      reason={why("again")}
      busy={act.isPending && t.recreating}
      onClick={() => act.mutate({ kind: "recreate" })}
    >
      {t.recreateSame}
    </Button>
  );
}

/** The key does what the button does: nothing, where there is none or it says why not. */
function Extend({ deployment, act, why }: Parts) {
  const reason = why("extend");
  const extend = () => act.mutate({ kind: "extend" });
  useKeys({ e: () => !reason && !act.isPending && extend() });
  if (!deployment.expires_at) return null;
  return (
    <Button
      act={t.extend}
      reason={reason}
      busy={act.isPending && act.variables.kind === "extend" && t.extending}
      onClick={extend}
    >
      <TimerReset className="i sm" aria-hidden="true" />
      {t.extend}
    </Button>
  );
}

function Hold({ deployment, act, why, ask }: Parts & { ask: () => void }) {
  if (!activeHold(deployment))
    return (
      <Button act={t.hold} reason={why("hold")} onClick={ask}>
        {t.hold}
      </Button>
    );
  return (
    <Button act={t.release} reason={why("release")} onClick={() => act.mutate({ kind: "release" })}>
      {t.release}
    </Button>
  );
}

function CapsuleLink({ id }: { id: string }) {
  const say = useToast();
  const copy = async () => {
    const link = `${window.location.origin}/d/${id}/capsule`;
    if (await copyText(link)) say("done", t.capsuleCopied);
    else say("failed", t.capsuleNotCopied(link));
  };
  useKeys({ b: (event) => event.shiftKey && void copy() });
  return (
    <Button
      look="ghost"
      icon
      act={t.capsule}
      aria-label={t.capsule}
      title={t.capsule}
      onClick={copy}
    >
      <Bug className="i sm" aria-hidden="true" />
    </Button>
  );
}

/** To the sheet; for who may create nowhere, a line of the page says who can change that. */
function Clone({ of }: { of: string }) {
  const navigate = useNavigate();
  const reason = useReasonNotToCreate();
  const clone = () => void navigate({ to: "/deployments/new", search: { from: of } });
  useKeys({ c: () => !reason && clone() });
  usePageAction(reason ? undefined : { label: t.clone, run: clone });
  if (reason)
    return (
      <Button act={t.clone} reason={reason}>
        <CloneLabel />
      </Button>
    );
  return (
    <Link className={buttonClass()} to="/deployments/new" search={{ from: of }}>
      <CloneLabel />
    </Link>
  );
}

function CloneLabel() {
  return (
    <>
      <Copy className="i sm" aria-hidden="true" />
      {t.clone}
    </>
  );
}
