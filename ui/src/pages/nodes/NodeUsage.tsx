import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { NodeInfo } from "@/api/client";
import { nodeEvents } from "@/api/queries/catalog";
import { type Metrics, nodeMetrics } from "@/api/queries/usage";
import type { Mark } from "@/components/Chart";
import { ErrorState, Skeletons } from "@/components/States";
import { stateWord } from "@/components/Status";
import { nodeTexts } from "@/nodeTexts";
import { Curves, machineFigures, SPANS, Spans } from "./Curves";
import { useSpan } from "./useSpan";

const t = nodeTexts.use;

/** The machine's resource use over time, by NullOps and anything else. */
export function NodeUsage({ node }: { node: NodeInfo }) {
  const [span, setSpan] = useSpan();
  const query = useQuery(nodeMetrics(node.name, SPANS[span]));
  return (
    <section className="px-4 pb-4" aria-labelledby="use">
      <div className="row gap-3 mb-1">
        <h2 id="use">{t.title}</h2>
        <Spans span={span} set={setSpan} />
      </div>
      {query.isError ? (
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
      ) : null}
      {query.isPending ? <Skeletons count={2} height={120} /> : null}
      {query.data ? <Charts node={node} metrics={query.data} /> : null}
    </section>
  );
}

function Charts({ node, metrics }: { node: NodeInfo; metrics: Metrics }) {
  const { cpu, memory, disk } = node.inventory ?? {};
  const marks = useMarks(node.name);
  const figures = useMemo(() => machineFigures({ cpu, memory, disk }), [cpu, memory, disk]);
  return (
    <div className="grid grid-cols-1 gap-4 min-[1000px]:grid-cols-2">
      {figures.map((figure) => (
        <Curves key={figure.title} figure={figure} metrics={metrics} marks={marks} />
      ))}
    </div>
  );
}

const words: Record<string, string> = nodeTexts.kinds;

/** What happened to the node, as the list below the curves says it. */
function useMarks(name: string): Mark[] {
  const { data } = useQuery(nodeEvents(name));
  return useMemo(
    () =>
      (data ?? []).map(({ at, kind }) => ({
        at: Date.parse(at) / 1000,
        text: words[kind] ?? stateWord(kind),
      })),
    [data],
  );
}
