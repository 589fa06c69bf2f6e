import { useSuspenseQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import type { Deployment, Step } from "@/api/client";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { useKeys } from "@/components/Shell";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { LifeActs } from "./LifeActs";
import { Questions } from "./Questions";
import { type Act, useAct } from "./useAct";
import { othersOf } from "./visitors";
import { whyNot } from "./whyNot";

const t = pageTexts;

type Asking = "cancel" | "remove" | "forget" | "retry";

/** What a deployment's state allows. Nothing is shown that could never be done from here. */
export function Acts({ deployment, steps }: { deployment: Deployment; steps: Step[] }) {
  const { data: person } = useSuspenseQuery(me);
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const act = useAct(deployment, close);
  const lack = usePermissionReasonOn(deployment);
  const noRetry = lack ?? whyNot("retry", deployment, person);
  const noRemove = lack ?? whyNot("remove", deployment, person);
  const { status } = deployment;
  const retry = () => {
    if (othersOf(deployment, Date.now()).length > 0) setAsking("retry");
    else act.mutate("retry");
  };
  return (
    <div className="row end acts wrap">
      <LifeActs deployment={deployment} />
      {status === "failed" ? <Retry reason={noRetry} act={act} retry={retry} /> : null}
      {status === "stuck" ? <Again reason={noRemove} act={act} /> : null}
      {status === "stuck" && person.role === "admin" ? (
        <Button look="danger" act={t.forget} onClick={() => setAsking("forget")}>
          {t.forget}
        </Button>
      ) : null}
      <Remove status={status} reason={noRemove} ask={setAsking} />
      <Questions deployment={deployment} steps={steps} asking={asking} close={close} act={act} />
    </div>
  );
}

type Props = { reason?: string; act: Act };

function Retry({ reason, act, retry }: Props & { retry: () => void }) {
  useKeys({ r: () => !reason && !act.isPending && retry() });
  return (
    <Button
      look="ink"
      act={t.retry}
      reason={reason}
      busy={act.isPending && act.variables === "retry" && t.retryBusy}
      onClick={retry}
    >
      <RotateCcw className="i sm" aria-hidden="true" />
      {t.retry} <kbd>R</kbd>
    </Button>
  );
}

function Again({ reason, act }: Props) {
  return (
    <Button
      look="ink"
      act={t.again}
      reason={reason}
      busy={act.isPending && t.removing}
      onClick={() => act.mutate("delete")}
    >
      {t.again}
    </Button>
  );
}

type RemoveProps = { status: string; reason?: string; ask: (what: Asking) => void };

/** While it is being made it is canceled, later deleted. */
function Remove({ status, reason, ask }: RemoveProps) {
  if (status === "queued" || status === "applying")
    return (
      <Button look="danger" act={t.cancel} reason={reason} onClick={() => ask("cancel")}>
        {t.cancel}
      </Button>
    );
  if (status !== "ready" && status !== "failed") return null;
  return (
    <Button look="danger" act={t.remove} reason={reason} onClick={() => ask("remove")}>
      {t.remove}
    </Button>
  );
}
