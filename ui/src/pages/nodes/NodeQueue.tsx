import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { nodeQueue } from "@/api/queries/catalog";
import { ErrorState } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { nodeTexts } from "@/nodeTexts";
import { MEASURED } from "./useNodesLive";

const t = nodeTexts.queue;

type Item = Schemas["QueueItem"];

/** Who waits for this node, in the order of turns, and who came before. */
export function NodeQueue({ name }: { name: string }) {
  const waiting = useQuery({ ...nodeQueue(name, false), refetchInterval: MEASURED });
  const before = useQuery({ ...nodeQueue(name, true), refetchInterval: MEASURED });
  return (
    <section className="px-4 pb-3" aria-labelledby="queue">
      <h2 id="queue" className="mb-1">
        {t.title}
      </h2>
      {waiting.isError ? (
        <ErrorState what={t.unread} error={waiting.error} retry={() => void waiting.refetch()} />
      ) : null}
      {waiting.data?.length === 0 ? <p className="t2">{t.nobody}</p> : null}
      {waiting.data && waiting.data.length > 0 ? <Turns all={waiting.data} /> : null}
      {before.data && before.data.length > 0 ? (
        <details>
          <summary className="t2">{t.history}</summary>
          <Turns all={before.data} past />
        </details>
      ) : null}
    </section>
  );
}

export function Turns({ all, past }: { all: Item[]; past?: boolean }) {
  return (
    <table className="tbl">
      <thead>
        <tr>
          <th>{past ? t.columns.state : t.columns.turn}</th>
          <th>{t.columns.deployment}</th>
          <th>{t.columns.priority}</th>
          <th>{t.columns.queued}</th>
          <th>{past ? t.columns.ended : t.columns.reason}</th>
        </tr>
      </thead>
      <tbody>
        {all.map((one) => (
          <tr key={one.id}>
            <td>{past ? <StatusMark state={one.status} /> : (one.position ?? "–")}</td>
            <td>
              <Link
                className="hover:underline"
                to="/d/$id/{-$tab}"
                params={{ id: one.deployment_id }}
              >
                <b>{one.deployment}</b>
              </Link>{" "}
              <span className="t2">{one.project}</span>
            </td>
            <td className="t2">{one.priority}</td>
            <td>
              <Time at={one.queued_at} short className="t2 s" />
            </td>
            <td className="t2">{past ? <Ended one={one} /> : (one.reason ?? "–")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Ended({ one }: { one: Item }) {
  const at = one.ended_at ?? one.left_at;
  return at ? <Time at={at} short className="t2 s" /> : t.goesOn;
}
