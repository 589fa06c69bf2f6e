import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type NodeInfo, type Schemas } from "@/api/client";
import { nodeProvisions } from "@/api/queries/catalog";
import type { ServerEvent } from "@/api/sse";
import { useLive } from "@/api/useLive";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { describeError, ErrorState, Skeletons } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { nodeTexts } from "@/nodeTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { SetUp } from "./SetUp";

const t = nodeTexts.ssh;
const m = machineTexts.ssh;

export type Attempt = Schemas["Provision"];
type Step = Schemas["ProvisionStep"];

const states: Record<Attempt["state"], string> = {
  pending: "queued",
  provisioning: "applying",
  ready: "done",
  error: "failed",
};

const goesOn = (one: Attempt) => one.state === "pending" || one.state === "provisioning";

/** Takes in what the stream of an attempt says. */
export function withEvents(before: Attempt, events: ServerEvent[]): Attempt {
  let now = before;
  for (const event of events) {
    if (event.event === "provision") {
      now = { ...now, ...(JSON.parse(event.data) as Attempt), steps: now.steps };
    }
    if (event.event === "step") {
      const step = JSON.parse(event.data) as Step;
      const steps = now.steps.filter((one) => one.seq !== step.seq);
      now = { ...now, steps: [...steps, step].sort((a, b) => a.seq - b.seq) };
    }
  }
  return now;
}

/** Attempts to set the machine up over SSH, the last one live, and the way to begin one. */
export function Provisions({ node }: { node: NodeInfo }) {
  const query = useQuery(nodeProvisions(node.name));
  const last = query.data?.[0];
  // A machine that was set up by hand and answers needs nothing of this.
  if (!query.isError && !last && node.status === "online") return null;
  return (
    <section className="px-4 pb-3" aria-labelledby="ssh">
      <h2 id="ssh" className="mb-1">
        {t.title}
      </h2>
      {query.isError ? (
        <ErrorState what={m.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeletons count={2} /> : null}
      {last ? <Last key={last.number} attempt={last} count={query.data?.length ?? 1} /> : null}
      {query.data?.length === 0 ? <p className="t2">{t.none}</p> : null}
      {query.data && !(last && goesOn(last)) ? <Begin node={node} last={last} /> : null}
    </section>
  );
}

/** The way to a new attempt: with a sign-in, or with the one that is kept. */
function Begin({ node, last }: { node: NodeInfo; last?: Attempt }) {
  const [asking, setAsking] = useState(false);
  return (
    <div className="row mt-2 flex-wrap">
      <Button act={t.begin} onClick={() => setAsking(true)}>
        {t.begin}
      </Button>
      {last ? <Again key={last.number} name={node.name} failed={last.state === "error"} /> : null}
      {asking ? <SetUp node={node} close={() => setAsking(false)} /> : null}
    </div>
  );
}

function Last({ attempt, count }: { attempt: Attempt; count: number }) {
  const cache = useQueryClient();
  const [live, setLive] = useState(attempt);
  const url = `/api/v1/nodes/${attempt.node}/provisions/${attempt.number}/events`;
  useLive(goesOn(attempt) ? url : null, (events) => {
    setLive((before) => withEvents(before, events));
    if (events.some((one) => one.event === "provision")) {
      void cache.invalidateQueries({ queryKey: ["node", attempt.node] });
    }
  });
  const shown = goesOn(attempt) ? live : attempt;
  return <AttemptLog attempt={shown} count={count} />;
}

export function AttemptLog({ attempt, count }: { attempt: Attempt; count: number }) {
  return (
    <div>
      <p className="row flex-wrap">
        <StatusMark state={states[attempt.state]}>{t.states[attempt.state]}</StatusMark>
        <span className="t2">{t.attempt(attempt.number, count, attempt.started_by)}</span>
        <Time at={attempt.created_at} short className="t3 s" />
      </p>
      {attempt.message ? (
        <p className="t2 break-words">
          <BidiSafe text={attempt.message} />
          {attempt.remedy ? ` ${attempt.remedy}` : null}
        </p>
      ) : null}
      <ol aria-live="polite" className="checks">
        {attempt.steps.map((step) => (
          <li key={step.seq}>
            <StatusMark state={step.status === "running" ? "applying" : step.status}>
              <span className="mono s">{step.key}</span>
            </StatusMark>
            {step.output ? (
              <pre className="mono s t2 whitespace-pre-wrap break-all">{step.output}</pre>
            ) : null}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Once more with the sign-in that is kept; and the end of keeping it. After a success it was forgotten, as a rule. */
function Again({ name, failed }: { name: string; failed: boolean }) {
  const cache = useQueryClient();
  const say = useToast();
  const params = { path: { name } };
  const onError = (error: unknown) =>
    say("failed", pageTexts.refused(describeError(error).message));
  const again = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/nodes/{name}/provisions", { params, body: {} })),
    onSuccess: () => void cache.invalidateQueries({ queryKey: ["node", name] }),
    onError,
  });
  const forget = useMutation({
    mutationFn: () => ask(client.DELETE("/api/v1/nodes/{name}/ssh", { params })),
    onSuccess: () => say("done", t.forgotten),
    onError,
  });
  if (forget.isSuccess) return <span className="t2">{t.forgotten}</span>;
  return (
    <>
      {failed ? (
        <Button act={t.again} busy={again.isPending && t.beginBusy} onClick={() => again.mutate()}>
          {t.again}
        </Button>
      ) : null}
      <Button
        act={failed ? t.forget : m.forgetKept}
        look="ghost"
        busy={forget.isPending && t.forget}
        onClick={() => forget.mutate()}
      >
        {failed ? t.forget : m.forgetKept}
      </Button>
      {failed ? null : <span className="t3 s">{m.kept}</span>}
    </>
  );
}
