import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Refusal } from "@/components/Field";
import { describe, ErrorState, Skeletons } from "@/components/States";
import { useToast } from "@/components/Toast";
import { environmentTexts as t } from "@/environmentTexts";
import { onlyOver, tagged } from "../admin/tagged";

type Gate = Schemas["EnvironmentGate"];

/** Who may open the URLs of an environment. A change is saved at once, apart from the form above it. */
export function Gate({ name, reason }: { name: string; reason?: string }) {
  const id = useId();
  const cache = useQueryClient();
  const say = useToast();
  const key = ["environment", name, "gate"];
  const params = { path: { name } };
  const query = useQuery({
    queryKey: key,
    queryFn: () => tagged<Gate>(client.GET("/api/v1/environments/{name}/gate", { params })),
  });
  const save = useMutation({
    mutationFn: (body: Gate) =>
      ask(
        client.PUT("/api/v1/environments/{name}/gate", {
          params,
          headers: onlyOver(query.data?.tag),
          body,
        }),
      ),
    onSuccess: () => say("done", t.gateSaved(name)),
    // Refused or not, what is there now is shown; only then it can be changed again.
    onSettled: () => cache.invalidateQueries({ queryKey: key }),
  });
  if (query.isPending) return <Skeletons count={2} />;
  if (query.isError)
    return (
      <ErrorState what={t.gateUnread} error={query.error} retry={() => void query.refetch()} />
    );
  const gate = save.variables && save.isPending ? save.variables : query.data.value;
  return (
    <section className="col gap-3">
      <Modes gate={gate} reason={reason} save={save.mutate} />
      <label className="ck">
        <input
          type="checkbox"
          checked={gate.redirect_https}
          disabled={reason !== undefined}
          aria-describedby={id}
          onChange={(event) => save.mutate({ ...gate, redirect_https: event.target.checked })}
        />
        {t.https}
      </label>
      <span id={id} className="hint pl-6">
        {reason ?? t.httpsHint}
      </span>
      {save.error ? <Refusal>{describe(save.error).message}</Refusal> : null}
    </section>
  );
}

type ModesProps = { gate: Gate; reason?: string; save: (gate: Gate) => void };

function Modes({ gate, reason, save }: ModesProps) {
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
        onChange={(event) => save({ ...gate, gate: event.target.value as Gate["gate"] })}
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
