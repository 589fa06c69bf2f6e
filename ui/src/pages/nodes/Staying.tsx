import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { Skeletons } from "@/components/States";
import { StatusMark, stateWord } from "@/components/Status";
import { formatExact } from "@/components/time";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { ReadFailed } from "../deployment/ReadFailed";
import { MEASURED } from "./useNodesLive";

const d = machineTexts.drain;

const t = nodeTexts;

type Estimate = Schemas["NodeDrain"];

/** What is on a node, read again and again: that a deployment left is no event of the node. */
export const useStaying = (name: string) =>
  useQuery({ ...nodeDrain(name), refetchInterval: MEASURED });

/** What is on the node, and when it will be gone by itself; or that it is not known. */
export function Staying({ query }: { query: UseQueryResult<Estimate> }) {
  return (
    <>
      <ReadFailed what={d.unread} query={query} />
      {query.isPending ? <Skeletons count={2} /> : null}
      {query.data ? <Stays drain={query.data} /> : null}
    </>
  );
}

function Stays({ drain }: { drain: Estimate }) {
  if (drain.staying.length === 0) return <p>{t.nothingStays}</p>;
  return (
    <>
      <p>
        {t.stay(drain.staying.length)}{" "}
        {drain.ends_at ? t.emptyBy(formatExact(drain.ends_at)) : t.emptyNever}
      </p>
      <ul className="flex max-h-60 flex-col gap-1 overflow-auto">
        {drain.staying.map((one) => (
          <li key={one.id} className="row flex-wrap">
            <StatusMark state={one.status}>
              <span className="vh">{stateWord(one.status)}</span>
            </StatusMark>
            <Link className="hover:underline" to="/d/$id/{-$tab}" params={{ id: one.id }}>
              <b>{one.name}</b>
            </Link>
            <span className="t2">
              {one.project}, {one.created_by}
            </span>
            <span className="t3">
              {one.ends_at ? t.endsAt(formatExact(one.ends_at)) : t.endsNever}
            </span>
            {one.stays_because ? (
              <p className="basis-full t2">{d.stays(one.stays_because)}</p>
            ) : null}
          </li>
        ))}
      </ul>
    </>
  );
}
