import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type NodeInfo, type Schemas } from "@/api/client";
import { deployments } from "@/api/queries/deployments";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { nodeTexts } from "@/nodeTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { type Kind, useNodeAct } from "@/pages/nodes/useNodeAct";
import { texts } from "@/texts";
import { othersOf } from "../deployment/visitors";
import { Interrupts } from "../deployment/WhoIsHere";
import { Enrolled } from "./AddNode";
import { DrainAct } from "./DrainAct";

const t = nodeTexts;

/** Edit, disable and enable, a new token, revoke, remove; what hurts asks first and says what happens. */
export function NodeActs({ node, edit }: { node: NodeInfo; edit: () => void }) {
  const [asking, setAsking] = useState<"disable" | "rotate" | "revoke" | "remove" | "forget">();
  const [made, setMade] = useState<Schemas["NodeEnrolment"]>();
  const act = useNodeAct(node.name);
  const rotate = useRotate(node.name, setMade);
  const close = () => setAsking(undefined);
  const interrupted = useInterrupted(node.name);
  const anyway = interrupted.length > 0 || undefined;
  const run = (kind: Kind) => act.mutate({ kind, anyway }, { onSettled: close });
  const yes = {
    disable: () => run("disable"),
    revoke: () => run("revoke"),
    remove: () => run("remove"),
    forget: () => run("forget"),
    rotate: () => rotate.mutate(anyway, { onSettled: close }),
  };
  const said = {
    disable: [t.disableTitle(node.name), t.disableBody(node.deployments), t.disable],
    rotate: [t.rotateTitle(node.name), t.rotateBody, t.rotate],
    revoke: [t.revokeTitle(node.name), t.revokeBody, t.revoke],
    remove: [t.removeTitle(node.name), t.removeBody, t.remove],
    forget: [t.forgetTitle(node.name), t.forgetBody(node.deployments), t.forget],
  } as const;
  const [title, body, label] = asking ? said[asking] : ["", "", ""];
  return (
    <div className="row end acts flex-wrap">
      <Button act={machineTexts.edit} onClick={edit}>
        {machineTexts.edit}
      </Button>
      {node.enabled ? (
        <Button act={t.disable} onClick={() => setAsking("disable")}>
          {t.disable}
        </Button>
      ) : (
        <Button act={t.enable} onClick={() => run("enable")}>
          {t.enable}
        </Button>
      )}
      {node.drain ? null : <DrainAct node={node} />}
      <Button act={t.rotate} onClick={() => setAsking("rotate")}>
        {t.rotate}
      </Button>
      <Button act={t.revoke} look="danger" onClick={() => setAsking("revoke")}>
        {t.revoke}
      </Button>
      {node.deployments === 0 ? (
        <Button act={t.remove} look="danger" onClick={() => setAsking("remove")}>
          {t.remove}
        </Button>
      ) : null}
      {node.deployments > 0 && node.status !== "online" ? (
        // Only for a machine that is away: what answers can be emptied properly.
        <Button act={t.forget} look="danger" onClick={() => setAsking("forget")}>
          {t.forget}
        </Button>
      ) : null}
      <Confirm
        open={asking !== undefined}
        onClose={close}
        title={title}
        acts={
          <>
            <Button onClick={close}>{texts.keep}</Button>
            <Button
              look="danger"
              busy={(act.isPending || rotate.isPending) && "…"}
              onClick={() => asking && yes[asking]()}
            >
              {label}
            </Button>
          </>
        }
      >
        <p>{body}</p>
        {asking ? <Interrupts on={interrupted} named /> : null}
      </Confirm>
      {made ? <Enrolled enrolment={made} close={() => setMade(undefined)} /> : null}
    </div>
  );
}

/** The node's deployments that others are at, who could not reach them any more. */
function useInterrupted(name: string) {
  const query = useQuery(deployments);
  return (
    query.data?.filter(
      (one) => one.node === name && one.status === "ready" && othersOf(one, Date.now()).length > 0,
    ) ?? []
  );
}

function useRotate(name: string, made: (enrolment: Schemas["NodeEnrolment"]) => void) {
  const say = useToast();
  return useMutation({
    mutationFn: (anyway?: true) =>
      ask(
        client.POST("/api/v1/nodes/{name}/token", {
          params: { path: { name }, query: { anyway } },
        }),
      ),
    onSuccess: made,
    onError: (error) => say("failed", pageTexts.refused(describeError(error).message)),
  });
}
