import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client } from "@/api/client";
import { Button } from "@/components/Button";
import { useToast } from "@/components/Toast";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { ConfirmAct } from "./ConfirmAct";

const t = machineTexts.cluster.giveUp;

type Props = { node: string; machine: string };

/** Offered for a machine that does not answer: services with volumes wait for it until somebody knows. */
export function GiveUpMachine({ node, machine }: Props) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button small aria-label={t.of(machine)} onClick={() => setAsking(true)}>
        {t.act}
      </Button>
      {asking ? <Asks node={node} machine={machine} close={() => setAsking(false)} /> : null}
    </>
  );
}

function Asks({ node, machine, close }: Props & { close: () => void }) {
  const cache = useQueryClient();
  const say = useToast();
  const giveUp = useMutation({
    mutationFn: () =>
      ask(
        client.POST("/api/v1/nodes/{name}/machines/{machine}/give-up", {
          params: { path: { name: node, machine } },
        }),
      ),
    onSuccess: ({ services }) => {
      say("done", t.done(services));
      void cache.invalidateQueries({ queryKey: ["node", node] });
      close();
    },
  });
  return (
    <ConfirmAct
      title={t.title(machine)}
      body={t.body}
      label={t.act}
      busy={t.busy}
      act={giveUp}
      close={close}
    />
  );
}
