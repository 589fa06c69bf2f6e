import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { describeError } from "@/components/States";
import { Time } from "@/components/Time";
import { useToast } from "@/components/Toast";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { ReadFailed } from "../deployment/ReadFailed";
import { ConfirmAct } from "./ConfirmAct";
import { nodeUnknown } from "./queries";
import { MEASURED } from "./useNodesLive";

const t = machineTexts.unknown;

type Found = Schemas["UnknownDeployment"];

/**
 * Shown after a database restore: deployments that run on the node and are missing in the database,
 * with the choice to adopt or remove them.
 */
export function UnknownDeployments({ name }: { name: string }) {
  const query = useQuery({ ...nodeUnknown(name), refetchInterval: MEASURED });
  if (!query.data?.length) return <ReadFailed what={t.unread} query={query} />;
  return (
    <section className="px-4 pb-3" aria-labelledby="unknown">
      <ReadFailed what={t.unread} query={query} />
      <h2 id="unknown" className="mb-1">
        {t.title}
      </h2>
      <p className="t2 max-w-[72ch]">{t.what}</p>
      <table className="tbl">
        <thead>
          <tr>
            {Object.values(t.columns).map((column) => (
              <th key={column}>{column}</th>
            ))}
            <th>{t.found}</th>
            <th>
              <span className="vh">{t.acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {query.data.map((one) => (
            <Line key={one.id} node={name} one={one} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Line({ node, one }: { node: string; one: Found }) {
  return (
    <tr>
      <td>
        <b>{one.name}</b>
      </td>
      <td>{one.project}</td>
      <td className="t2">{one.environment}</td>
      <td className="t2">{one.purging ? t.purging : one.phase}</td>
      <td>
        <Time at={one.found_at} short className="t2 s" />
      </td>
      <td className="rowacts">{one.purging ? null : <Acts node={node} one={one} />}</td>
    </tr>
  );
}

/** Refetches everything about the node, and the list of deployments, which may have a new entry. */
function useAgain(node: string) {
  const cache = useQueryClient();
  return () => {
    void cache.invalidateQueries({ queryKey: ["node", node] });
    void cache.invalidateQueries({ queryKey: ["deployments"] });
  };
}

function Acts({ node, one }: { node: string; one: Found }) {
  const say = useToast();
  const again = useAgain(node);
  const [purging, setPurging] = useState(false);
  const params = { path: { name: node, id: one.id } };
  const adopt = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/nodes/{name}/unknown/{id}/adopt", { params })),
    onSuccess: () => say("done", t.adopted(one.name)),
    onError: (error) => say("failed", pageTexts.refused(describeError(error).message)),
    onSettled: again,
  });
  return (
    <div className="row end">
      <Button
        act={t.adoptOf(one.name)}
        small
        aria-label={t.adoptOf(one.name)}
        busy={adopt.isPending && t.adopting}
        onClick={() => adopt.mutate()}
      >
        {t.adopt}
      </Button>
      <Button
        act={t.purgeOf(one.name)}
        small
        look="danger"
        aria-label={t.purgeOf(one.name)}
        onClick={() => setPurging(true)}
      >
        {t.purge}
      </Button>
      {purging ? <Purge node={node} one={one} close={() => setPurging(false)} /> : null}
    </div>
  );
}

function Purge({ node, one, close }: { node: string; one: Found; close: () => void }) {
  const say = useToast();
  const again = useAgain(node);
  const params = { path: { name: node, id: one.id } };
  const purge = useMutation({
    mutationFn: () => ask(client.POST("/api/v1/nodes/{name}/unknown/{id}/purge", { params })),
    onSuccess: () => {
      say("done", t.purged(one.name));
      again();
      close();
    },
  });
  return (
    <ConfirmAct
      title={t.purgeTitle(one.name, node)}
      body={t.purgeBody}
      label={t.purge}
      busy={t.purgeBusy}
      act={purge}
      close={close}
    />
  );
}
