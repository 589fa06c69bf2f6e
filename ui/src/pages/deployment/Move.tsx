import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ask, client, type Deployment, type Schemas } from "@/api/client";
import { nodes, pipelineVersion } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { Confirm } from "@/components/Overlay";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { uncopyableVolumes, volumesOf } from "@/pages/deployment/endingTexts";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import { othersOf } from "./visitors";
import { Interrupts } from "./WhoIsHere";

const t = deployTexts.move;

type Props = { deployment: Deployment; close: () => void };

/** Where it goes, and what becomes of its volumes: copied, or left behind and erased. */
export default function Move({ deployment, close }: Props) {
  const { name } = deployment;
  const [node, setNode] = useState("");
  const [empty, setEmpty] = useState(false);
  const move = useMove(deployment, close);
  const { volumes, stay } = useVolumes(deployment);
  const bound = stay.length > 0 && !empty ? t.bound(stay) : undefined;
  const keep = () => {
    if (!move.isPending) close();
  };
  const acts = (
    <>
      <Button onClick={keep}>{texts.keep}</Button>
      <Button
        look={empty ? "danger" : "ink"}
        reason={bound}
        busy={move.isPending && t.asking}
        onClick={() =>
          move.mutate({
            node: node || undefined,
            drop_volumes: empty,
            anyway: othersOf(deployment, Date.now()).length > 0 || undefined,
          })
        }
      >
        {t.yes}
      </Button>
    </>
  );
  return (
    <Confirm open onClose={keep} title={t.title(name)} acts={acts}>
      <p>{sayMove(deployment, volumes, empty)}</p>
      <Interrupts on={[deployment]} />
      {bound ? <p>{bound}</p> : null}
      {volumes?.length === 0 ? null : (
        <label className="ck">
          <input
            type="checkbox"
            checked={empty}
            onChange={(event) => setEmpty(event.target.checked)}
          />
          {t.empty}
        </label>
      )}
      <Where deployment={deployment} node={node} choose={setNode} />
      {move.error ? <Refusal>{describeError(move.error).message}</Refusal> : null}
    </Confirm>
  );
}

function sayMove({ node = "" }: Deployment, volumes: string[] | undefined, empty: boolean) {
  if (volumes === undefined) return empty ? t.made(node, t.erasedAll) : t.unsure;
  if (volumes.length === 0) return t.made(node, "");
  return empty ? t.made(node, t.erased(volumes)) : t.carried(node, volumes);
}

/** Unknown while they are read, and of a pipeline that this person may not see. */
function useVolumes(deployment: Deployment): { volumes?: string[]; stay: string[] } {
  const { project, pipeline_version: version } = deployment;
  const drawn = useQuery(pipelineVersion(project, version)).data;
  if (!drawn) return { stay: [] };
  const { pipeline } = drawn;
  return {
    volumes: volumesOf(deployment, pipeline),
    stay: uncopyableVolumes(deployment, pipeline),
  };
}

type WhereProps = { deployment: Deployment; node: string; choose: (node: string) => void };

/** Admins may name the node; for others it is the best of the rest. */
function Where({ deployment, node, choose }: WhereProps) {
  const id = useId();
  const { data: person } = useSuspenseQuery(me);
  const admin = person.role === "admin";
  const all = useQuery({ ...nodes, enabled: admin });
  if (!admin) return <p>{t.best}</p>;
  const others = (all.data ?? []).filter((one) => one.name !== deployment.node);
  return (
    <div className="field">
      <label className="lbl" htmlFor={id}>
        {t.node}
      </label>
      <select
        id={id}
        className="pick"
        value={node}
        onChange={(event) => choose(event.target.value)}
      >
        <option value="">{t.any}</option>
        {others.map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
      </select>
      {all.error ? <span className="hint">{t.nodesUnread}</span> : null}
    </div>
  );
}

/** A refusal is said in the question, which stays open. */
function useMove({ id, name }: Deployment, close: () => void) {
  const cache = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (body: Schemas["Move"]) =>
      ask(client.POST("/api/v1/deployments/{id}/move", { params: { path: { id } }, body })),
    onSuccess: (told) => {
      cache.setQueryData(["deployment", id], told);
      void cache.invalidateQueries({ queryKey: ["deployments"] });
      say("done", t.asked(name));
      close();
    },
  });
}
