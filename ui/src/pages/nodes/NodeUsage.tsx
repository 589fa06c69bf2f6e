import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import type { NodeInfo } from "@/api/client";
import { type Metrics, nodeMetrics } from "@/api/queries/usage";
import { formatBytes, formatNumber } from "@/components/quantity";
import { ErrorState, Skeletons } from "@/components/States";
import { nodeTexts } from "@/nodeTexts";
import { Curves, type Figure, rate, SPANS, Spans } from "./Curves";
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
      {query.data ? (
        <Suspense fallback={<Skeletons count={2} height={120} />}>
          <Charts node={node} metrics={query.data} />
        </Suspense>
      ) : null}
    </section>
  );
}

function Charts({ node, metrics }: { node: NodeInfo; metrics: Metrics }) {
  const { cpu, memory, disk } = node.inventory ?? {};
  const figures = useMemo(
    (): Figure[] => [
      {
        title: t.cpu,
        lines: [[t.cpu, "--color-accent", (point) => point.cpu]],
        most: cpu,
        format: formatNumber,
      },
      {
        title: t.memory,
        lines: [[t.memory, "--color-accent", (point) => point.memory]],
        most: memory,
        format: formatBytes,
      },
      {
        title: t.diskFree,
        lines: [[t.diskFree, "--color-accent", (point) => point.disk_free ?? 0]],
        most: disk,
        format: formatBytes,
      },
      {
        title: t.network,
        lines: [
          [t.in, "--color-accent", (point) => point.net_in],
          [t.out, "--color-st-undoing", (point) => point.net_out],
        ],
        format: rate,
      },
    ],
    [cpu, memory, disk],
  );
  return (
    <div className="grid grid-cols-1 gap-4 min-[1000px]:grid-cols-2">
      {figures.map((figure) => (
        <Curves key={figure.title} figure={figure} metrics={metrics} />
      ))}
    </div>
  );
}
