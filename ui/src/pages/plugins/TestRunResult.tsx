import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ask, client, type Deployment } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { LogView } from "@/components/LogView";
import { logTexts } from "@/components/logTexts";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { Pill } from "@/components/Status";
import { pluginTexts as t } from "@/pages/catalogTexts";
import {
  useDeploymentStream,
  useStepLog,
  useSteps,
  type Watch,
} from "../deployment/useDeploymentStream";
import { isGoing, STEP } from "./testPipeline";

/** It runs once; what removes it again is another run. */
const RUN = 1;

/** What comes of a test run, as it happens: its state, what the plugin says, and what it gave back. */
export function TestRunResult({ id }: { id: string }) {
  const watch = useDeploymentStream(id);
  const { deployment, error } = watch;
  if (!deployment)
    return error ? (
      <ErrorState what={t.trialLost} error={error} retry={watch.refetch} />
    ) : (
      <Skeletons count={3} />
    );
  return (
    <section className="col gap-2" aria-label={t.trial}>
      <div className="row" role="status">
        <Pill state={deployment.status} />
        <Link
          className="link tr"
          to="/d/$id/{-$tab}"
          params={{ id, tab: "run" }}
          search={{}}
          target="_blank"
        >
          {deployment.name}
        </Link>
        <span className="end">
          <Remove deployment={deployment} />
        </span>
      </div>
      <Step watch={watch} deployment={deployment} />
    </section>
  );
}

function Step({ watch, deployment }: { watch: Watch; deployment: Deployment }) {
  const { steps } = useSteps(deployment.id, RUN, watch.watched);
  const step = steps.find((one) => one.key === STEP);
  const { log, error, again } = useStepLog(watch, RUN, step);
  return (
    <>
      {step?.message ? (
        <div className="box" data-st={step.status === "failed" ? "failed" : "queued"}>
          <BidiSafe text={step.message} />
        </div>
      ) : null}
      {error ? <ErrorState what={logTexts.unread} error={error} retry={again} /> : null}
      <div className="triallog">
        <LogView
          label={logTexts.label(STEP)}
          lines={log.lines}
          cut={log.cut}
          start={step?.started_at}
          empty={step?.ended_at ? logTexts.none : logTexts.waiting}
          end={step?.ended_at ? logTexts.ended : undefined}
          name={deployment.name}
        />
      </div>
      {step?.ended_at && step.outputs ? (
        <div className="field">
          <span className="lbl">{t.trialGave}</span>
          <div className="codebox">
            <pre>
              <BidiSafe text={JSON.stringify(step.outputs, null, 2)} />
            </pre>
          </div>
        </div>
      ) : null}
    </>
  );
}

/** It stays as any deployment does until it is removed, which can be done right here. */
function Remove({ deployment }: { deployment: Deployment }) {
  const cache = useQueryClient();
  const { id, status } = deployment;
  const remove = useMutation({
    mutationFn: () => ask(client.DELETE("/api/v1/deployments/{id}", { params: { path: { id } } })),
    onSuccess: (told) => {
      cache.setQueryData(["deployment", id], told);
      void cache.invalidateQueries({ queryKey: ["deployments"] });
    },
  });
  if (isGoing(status)) return null;
  const label = status === "applying" || status === "queued" ? t.trialStop : t.trialRemove;
  return (
    <span className="row">
      {remove.error ? <Refusal>{describeError(remove.error).message}</Refusal> : null}
      <Button
        act={label}
        small
        busy={remove.isPending && t.trialRemoving}
        onClick={() => remove.mutate()}
      >
        {label}
      </Button>
    </span>
  );
}
