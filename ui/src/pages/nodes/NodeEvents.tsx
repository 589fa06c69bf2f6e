import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { nodeEvents } from "@/api/queries/catalog";
import { BidiSafe } from "@/components/BidiSafe";
import { ErrorState, Skeletons } from "@/components/States";
import { StatusMark, stateWord } from "@/components/Status";
import { Time } from "@/components/Time";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";

const t = nodeTexts;
const words: Record<string, string> = t.kinds;

/** What happened to a node, newest first. */
export function NodeEvents({ name }: { name: string }) {
  const query = useQuery(nodeEvents(name));
  if (query.data?.length === 0) return null;
  return (
    <section className="px-4 pb-4">
      <h2 className="mb-1">{t.happened}</h2>
      {query.isError ? (
        <ErrorState
          what={machineTexts.happened.unread}
          error={query.error}
          retry={() => void query.refetch()}
        />
      ) : null}
      {query.isPending ? <Skeletons count={3} /> : null}
      {query.data ? <Events all={query.data} /> : null}
    </section>
  );
}

export function Events({ all }: { all: Schemas["NodeEvent"][] }) {
  return (
    <ol className="flex flex-col gap-1">
      {all.map((event) => (
        <li key={event.id} className="row flex-wrap">
          <Time at={event.at} short className="t3 s nw" />
          {words[event.kind] ? (
            <b>{words[event.kind]}</b>
          ) : (
            <StatusMark state={event.kind}>{stateWord(event.kind)}</StatusMark>
          )}
          <span className="t2 min-w-0 break-words">
            <BidiSafe text={event.detail ?? ""} />
          </span>
        </li>
      ))}
    </ol>
  );
}
