import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type NodeInfo } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { Staying, useStaying } from "@/pages/nodes/Staying";
import { texts } from "@/texts";
import { formatDeadline, parseDeadline } from "./deadlineField";

const t = nodeTexts;
const d = machineTexts.drain;

/** Begins a drain, or changes its deadline and has what is ready moved after all. */
export function DrainAct({ node }: { node: NodeInfo }) {
  const [open, setOpen] = useState(false);
  const label = node.drain ? d.change : t.drain;
  return (
    <>
      <Button act={label} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {open ? <Asks node={node} close={() => setOpen(false)} /> : null}
    </>
  );
}

function useDrain(name: string, done: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (body: { deadline?: string; move: boolean }) =>
      ask(client.POST("/api/v1/nodes/{name}/drain", { params: { path: { name } }, body })),
    onSuccess: (drain) => {
      say("done", t.asked.drain);
      cache.setQueryData(nodeDrain(name).queryKey, drain);
      void cache.invalidateQueries({ queryKey: ["node", name], exact: true });
      void cache.invalidateQueries({ queryKey: ["nodes"] });
      done();
    },
  });
}

/** What is there and until when; nothing begins before that is known. */
function Asks({ node, close }: { node: NodeInfo; close: () => void }) {
  const estimate = useStaying(node.name);
  const [until, setUntil] = useState(formatDeadline(node.drain?.deadline));
  const [move, setMove] = useState(false);
  const [past, setPast] = useState(false);
  const start = useDrain(node.name, close);
  const begin = () => {
    const meant = parseDeadline(until, Date.now());
    if (meant.past) setPast(true);
    else start.mutate({ deadline: meant.deadline, move });
  };
  const reason = estimate.data ? undefined : estimate.isError ? d.unknown : d.pending;
  const acts = (
    <>
      <Button onClick={close}>{texts.keep}</Button>
      <Button
        look="ink"
        reason={reason}
        busy={start.isPending && (node.drain ? d.changing : d.starting)}
        onClick={begin}
      >
        {node.drain ? d.change : t.drain}
      </Button>
    </>
  );
  const title = node.drain ? d.changeTitle(node.name) : t.drainTitle(node.name);
  return (
    <Confirm open onClose={close} title={title} acts={acts}>
      <p>{d.body}</p>
      <Staying query={estimate} />
      <Field
        type="datetime-local"
        label={d.until}
        hint={d.untilHint}
        value={until}
        error={past ? d.past : undefined}
        onChange={(event) => {
          setUntil(event.target.value);
          setPast(false);
          start.reset();
        }}
      />
      <Move on={move} set={setMove} />
      {start.error ? <Refusal>{describeError(start.error).message}</Refusal> : null}
    </Confirm>
  );
}

function Move({ on, set }: { on: boolean; set: (on: boolean) => void }) {
  return (
    <div className="field">
      <label className="ck text-text">
        <input type="checkbox" checked={on} onChange={(event) => set(event.target.checked)} />
        {d.move}
      </label>
      <span className="hint pl-6">{d.moveHint}</span>
    </div>
  );
}
