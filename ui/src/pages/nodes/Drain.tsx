import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { NodeInfo, Schemas } from "@/api/client";
import { nodeDrain } from "@/api/queries/catalog";
import { Button } from "@/components/Button";
import { ErrorState, Skeletons } from "@/components/States";
import { Rail, StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { exact } from "@/components/time";
import { machineTexts } from "@/machineTexts";
import { texts } from "@/texts";
import { DrainAct } from "./DrainAct";

const t = texts.nodes;
const d = machineTexts.drain;

type Estimate = Schemas["NodeDrain"];

/** How far the emptying of a node is, and what keeps it from being empty. */
export function DrainBox({ node, end }: { node: NodeInfo; end: () => void }) {
  const query = useQuery(nodeDrain(node.name));
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
  if (query.isError)
    return <ErrorState what={d.unread} error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Skeletons count={2} />;
  return <Stays drain={query.data} />;
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
