import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type NodeInfo } from "@/api/client";
import { Button } from "@/components/Button";
import { StatusMark, stateWord } from "@/components/Status";
import { useToast } from "@/components/Toast";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { ConfirmAct } from "./ConfirmAct";

const t = machineTexts.recover;

/** The API returns the reason as a sentence only: controlplane/fleet/reason.go. */
export const obeysNewer = ({ status, status_detail: why }: NodeInfo): boolean =>
  status === "offline" && Boolean(why?.includes("obeys a newer control plane"));

/** Where the agent has met a control plane that is ahead of this one: only a person knows which is the right one. */
export function Recover({ node }: { node: NodeInfo }) {
  const [asking, setAsking] = useState(false);
  if (!obeysNewer(node)) return null;
  return (
    <section className="box mx-4 mt-1" data-st="stuck" aria-label={t.title(node.name)}>
      <StatusMark state="stuck">
        <span className="vh">{stateWord("stuck")}</span>
      </StatusMark>
      <div className="grow col gap-2">
        <p className="max-w-[72ch]">{t.what}</p>
        <div>
          <Button act={t.act} onClick={() => setAsking(true)}>
            {t.act}
          </Button>
        </div>
      </div>
      {asking ? <Asks name={node.name} close={() => setAsking(false)} /> : null}
    </section>
  );
}

function Asks({ name, close }: { name: string; close: () => void }) {
  const cache = useQueryClient();
  const say = useToast();
  const recover = useMutation({
    mutationFn: () =>
      ask(client.POST("/api/v1/nodes/{name}/recover", { params: { path: { name } } })),
    onSuccess: () => {
      say("done", t.done);
      void cache.invalidateQueries({ queryKey: ["node", name] });
      close();
    },
  });
  return (
    <ConfirmAct
      title={t.confirmTitle(name)}
      body={t.confirm}
      label={t.act}
      busy={t.recovering}
      act={recover}
      close={close}
    />
  );
}
