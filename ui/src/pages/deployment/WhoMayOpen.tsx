import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Deployment, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { isLack, useShownLack } from "@/components/lack";
import { Confirm } from "@/components/Overlay";
import { describeError, Skeletons } from "@/components/States";
import { useToast } from "@/components/Toast";
import { gateTexts as t } from "@/pages/deployment/gateTexts";
import { environmentTexts } from "@/pages/environments/environmentTexts";
import { texts } from "@/texts";
import { usePermissionReasonOn } from "../shell/usePermissionReason";
import { GuestLinks } from "./GuestLinks";
import { ReadFailed } from "./ReadFailed";

type Gate = Schemas["DeploymentGate"];
type Mode = Gate["gate"];

const { gates, gateThen, gateChange, gateChanging } = environmentTexts;
/** From the most open to the strictest. */
const ORDER: Mode[] = ["open", "guests", "members"];

/** Who may open its URLs: its own rule over that of its environment, and its guest links. */
export function WhoMayOpen({ deployment }: { deployment: Deployment }) {
  const params = { path: { id: deployment.id } };
  const query = useQuery({
    queryKey: ["deployment", deployment.id, "gate"],
    queryFn: () => ask(client.GET("/api/v1/deployments/{id}/gate", { params })),
  });
  const reason = usePermissionReasonOn(deployment);
  return (
    <section aria-label={t.title} className="flex max-w-160 flex-col gap-3">
      <h2>{t.title}</h2>
      <ReadFailed what={t.unread} query={query} />
      {query.isPending ? <Skeletons count={2} /> : null}
      {query.data ? (
        <>
          <p>{gates[query.data.effective]}.</p>
          <Rule deployment={deployment} gate={query.data} reason={reason} />
          <GuestLinks id={deployment.id} effective={query.data.effective} reason={reason} />
        </>
      ) : null}
    </section>
  );
}

type RuleProps = { deployment: Deployment; gate: Gate; reason?: string };

function Rule({ deployment, gate, reason }: RuleProps) {
  const id = useId();
  const [asked, setAsked] = useState<Mode>();
  const { environment } = deployment;
  const stricter = ORDER.slice(ORDER.indexOf(gate.environment_gate) + 1);
  // What its environment has become as strict as meanwhile is still its own rule.
  const own = gate.gate !== "open" && !stricter.includes(gate.gate) ? [gate.gate] : [];
  useShownLack(reason);
  // Who may only look reads above what holds.
  if (isLack(reason)) return null;
  const off = stricter.length + own.length === 0 ? t.strictest : undefined;
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {t.label}
      </label>
      <select
        id={id}
        className="pick"
        value={gate.gate}
        disabled={off !== undefined}
        aria-describedby={`${id}-more`}
        onChange={(event) => setAsked(event.target.value as Mode)}
      >
        <option value="open">{t.asEnvironment(environment, gates[gate.environment_gate])}</option>
        {[...own, ...stricter].map((mode) => (
          <option key={mode} value={mode}>
            {gates[mode]}
          </option>
        ))}
      </select>
      <span id={`${id}-more`} className="hint">
        {off ?? t.hint}
      </span>
      {asked ? (
        <Ask deployment={deployment} gate={gate} mode={asked} close={() => setAsked(undefined)} />
      ) : null}
    </div>
  );
}

type AskProps = { deployment: Deployment; gate: Gate; mode: Mode; close: () => void };

/** It holds at once, for people who have the deployment open too: so it is asked first. */
function Ask({ deployment: { id, name, environment }, gate, mode, close }: AskProps) {
  const cache = useQueryClient();
  const say = useToast();
  const save = useMutation({
    mutationFn: () =>
      ask(
        client.PUT("/api/v1/deployments/{id}/gate", {
          params: { path: { id } },
          body: { gate: mode },
        }),
      ),
    onSuccess: (now) => {
      cache.setQueryData(["deployment", id, "gate"], now);
      say("done", t.saved(name));
      close();
    },
  });
  const keep = () => {
    if (!save.isPending) close();
  };
  const follows = mode === "open";
  const then = gateThen[follows ? gate.environment_gate : mode];
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button
        look={follows ? "danger" : "ink"}
        busy={save.isPending && gateChanging}
        onClick={() => save.mutate()}
      >
        {gateChange}
      </Button>
    </>
  );
  return (
    <Confirm open onClose={keep} title={t.ask(name)} acts={acts}>
      <p>
        <b>{gates[follows ? gate.environment_gate : mode]}.</b>{" "}
        {follows ? t.follow(environment, then) : then}
      </p>
      {save.error ? <Refusal>{describeError(save.error).message}</Refusal> : null}
    </Confirm>
  );
}
