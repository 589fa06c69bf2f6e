import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { ask, client, type Deployment, type Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { formatDuration } from "@/components/time";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { LastLines } from "./CapsuleParts";

const t = deployTexts.check;

type Props = { deployment: Deployment; close: () => void };

/** Asks each plugin that can tell whether what it made is still there; nothing is changed. */
export default function ResourceCheck({ deployment: { id, name }, close }: Props) {
  const asked = useId();
  const query = useQuery({
    // Runs once per opening, since it starts the plugins.
    queryKey: ["deployment", id, "check", asked],
    queryFn: () => ask(client.POST("/api/v1/deployments/{id}/check", { params: { path: { id } } })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return (
    <Confirm
      open
      onClose={close}
      title={t.title(name)}
      acts={<Button onClick={close}>{texts.close}</Button>}
    >
      <p role="status">{query.data ? sayAll(query.data) : query.isError ? "" : t.asking}</p>
      {query.isFetching ? <Skeletons count={2} /> : null}
      {query.isError ? (
        <ErrorState what={t.failed} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.data?.steps.map((step) => (
        <Step key={step.step} step={step} />
      ))}
    </Confirm>
  );
}

function sayAll({ ok, steps }: Schemas["DeploymentChecks"]): string {
  if (steps.length === 0) return t.nothing;
  return ok ? t.well(steps.length) : t.wrong(steps.filter((step) => !step.ok).length);
}

function Step({ step }: { step: Schemas["StepCheck"] }) {
  const { step: key, ok, message, seconds, log } = step;
  return (
    <section aria-label={key} className="col gap-1">
      <div className="row wrap">
        <b>{key}</b>
        <StatusMark state={ok ? "done" : "failed"}>{ok ? t.there : t.missing}</StatusMark>
        <span className="t3 s end">{formatDuration(seconds * 1000)}</span>
      </div>
      {message ? (
        <p>
          <BidiSafe text={message} />
        </p>
      ) : null}
      {ok ? null : <LastLines of={key} lines={log ?? []} />}
    </section>
  );
}
