import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError, Skeletons } from "@/components/States";
import { useToast } from "@/components/Toast";
import { ifMatch, readTagged } from "@/forms/etag";
import { environmentTexts as t } from "@/pages/environments/environmentTexts";
import { texts } from "@/texts";
import { ReadFailed } from "../deployment/ReadFailed";

type EnvironmentGate = Schemas["EnvironmentGate"];
type Mode = EnvironmentGate["gate"];

/** Who may open the URLs of an environment. A change is saved apart from the form above it. */
export function GateSettings({ name, reason }: { name: string; reason?: string }) {
  const id = useId();
  const cache = useQueryClient();
  const say = useToast();
  const key = ["environment", name, "gate"];
  const params = { path: { name } };
  const query = useQuery({
    queryKey: key,
    queryFn: () =>
      readTagged<EnvironmentGate>(client.GET("/api/v1/environments/{name}/gate", { params })),
  });
  const save = useMutation({
    mutationFn: (body: EnvironmentGate) =>
      ask(
        client.PUT("/api/v1/environments/{name}/gate", {
          params,
          headers: ifMatch(query.data?.tag),
          body,
        }),
      ),
    onSuccess: () => say("done", t.gateSaved(name)),
    // Refused or not, what is there now is shown; only then it can be changed again.
    onSettled: () => cache.invalidateQueries({ queryKey: key }),
  });
  const [asked, setAsked] = useState<Mode>();
  if (query.isPending) return <Skeletons count={2} />;
  if (!query.data) return <ReadFailed what={t.gateUnread} query={query} />;
  const gate = save.isPending ? save.variables : query.data.value;
  // Until the last one is answered and read, the tag is an old one: nothing else goes out.
  const put = (change: Partial<EnvironmentGate>, then?: () => void) =>
    save.isPending || save.mutate({ ...gate, ...change }, { onSettled: then });
  return (
    <section className="col gap-3" aria-busy={save.isPending}>
      <ReadFailed what={t.gateUnread} query={query} />
      <Modes
        gate={gate}
        reason={reason}
        ask={(mode) => setAsked(mode === gate.gate ? undefined : mode)}
      />
      <label className="ck">
        <input
          type="checkbox"
          checked={gate.redirect_https}
          disabled={reason !== undefined}
          aria-describedby={id}
          onChange={(event) => put({ redirect_https: event.target.checked })}
        />
        {t.https}
      </label>
      <span id={id} className="hint pl-6">
        {reason ?? t.httpsHint}
      </span>
      {save.error ? <Refusal>{describeError(save.error).message}</Refusal> : null}
      {asked ? (
        <Ask
          name={name}
          mode={asked}
          busy={save.isPending}
          change={() => put({ gate: asked }, () => setAsked(undefined))}
          close={() => setAsked(undefined)}
        />
      ) : null}
    </section>
  );
}

type AskProps = {
  name: string;
  mode: Mode;
  busy: boolean;
  change: () => void;
  close: () => void;
};

/** An arrow key in a select is a change; one that opens an environment to everyone is asked first. */
function Ask({ name, mode, busy, change, close }: AskProps) {
  const keep = () => {
    if (!busy) close();
  };
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button
        look={mode === "open" ? "danger" : "ink"}
        busy={busy && t.gateChanging}
        onClick={change}
      >
        {t.gateChange}
      </Button>
    </>
  );
  return (
    <Confirm open onClose={keep} title={t.gateAsk(name)} acts={acts}>
      <p>
        <b>{t.gates[mode]}.</b> {t.gateThen[mode]}
      </p>
      <p>{t.gateReach(name)}</p>
    </Confirm>
  );
}

type ModesProps = { gate: EnvironmentGate; reason?: string; ask: (mode: Mode) => void };

function Modes({ gate, reason, ask }: ModesProps) {
  const id = useId();
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {t.gate}
      </label>
      <select
        id={id}
        className="pick"
        value={gate.gate}
        disabled={reason !== undefined}
        aria-describedby={`${id}-more`}
        onChange={(event) => ask(event.target.value as Mode)}
      >
        {Object.entries(t.gates).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <span id={`${id}-more`} className="hint">
        {reason ?? t.gateHint}
      </span>
    </div>
  );
}
