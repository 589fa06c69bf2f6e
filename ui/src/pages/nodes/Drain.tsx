import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { NodeInfo, Schemas } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { Skeletons } from "@/components/States";
import { Rail, StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { exact } from "@/components/time";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { texts } from "@/texts";
import { Unread } from "../deployment/Unread";
import { DrainAct } from "./DrainAct";
import { MEASURED } from "./live";

const t = texts.nodes;
const d = machineTexts.drain;

type Estimate = Schemas["NodeDrain"];

/** What is on a node, read again and again: that a deployment left is no event of the node. */
export const useStaying = (name: string) =>
  useQuery({ ...nodeDrain(name), refetchInterval: MEASURED });

/** How far the emptying of a node is, and what keeps it from being empty. */
export function DrainBox({ node, end }: { node: NodeInfo; end: () => void }) {
  const query = useStaying(node.name);
  const drain = node.drain;
  if (!drain) return null;
  return (
    <section className="card mx-4 mt-1" data-st={drain.status} aria-label={t.drainOf(node.name)}>
      <Rail state={drain.status} />
      <h2 className="row">
        <StatusMark state={drain.status} />
        <span className="t2">{t.drainBy(drain.by)}</span>
        <Time at={drain.since} className="t3 s" />
      </h2>
      <p className="t2 max-w-[72ch]">{t.drainSays[drain.status]}</p>
      {drain.deadline ? (
        <p className="t2">
          {t.drainDeadline} <time dateTime={drain.deadline}>{exact(drain.deadline)}</time>
        </p>
      ) : null}
      <Staying query={query} />
      <div className="row">
        <Button act={t.undrain} onClick={end}>
          {t.undrain}
        </Button>
        <DrainAct node={node} />
      </div>
    </section>
  );
}

/** What is on the node, and when it will be gone by itself; or that it is not known. */
export function Staying({ query }: { query: UseQueryResult<Estimate> }) {
  return (
    <>
      <Unread what={d.unread} query={query} />
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
        {drain.ends_at ? t.emptyBy(exact(drain.ends_at)) : t.emptyNever}
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
            <span className="t3">{one.ends_at ? t.endsAt(exact(one.ends_at)) : t.endsNever}</span>
            {one.stays_because ? <span className="t2">{d.stays(one.stays_because)}</span> : null}
          </li>
        ))}
      </ul>
    </>
  );
}
