import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import type { NodeInfo } from "@/api/client";
import { nodeMetrics } from "@/api/queries/usage";
import { ErrorState, Skeletons } from "@/components/States";
import { fleetTexts as t } from "@/pages/fleet/fleetTexts";
import { Curves, machineFigures, SPANS, Spans } from "../nodes/Curves";
import { useSpan } from "../nodes/useSpan";
import { AGAIN } from "./queries";
import { sumMetrics } from "./sumMetrics";

/** Of more nodes than these the curves would cost more requests than they are worth. */
const MOST = 24;

/** What all nodes used together over time. */
export function CombinedUse({ nodes }: { nodes: NodeInfo[] }) {
  const [span, setSpan] = useSpan();
  const shown = [...nodes].sort((a, b) => b.deployments - a.deployments).slice(0, MOST);
  const read = useQueries({
    queries: shown.map((node) => ({
      ...nodeMetrics(node.name, SPANS[span]),
      refetchInterval: AGAIN,
    })),
  });
  const known = read.flatMap((one) => one.data ?? []);
  const failed = read.find((one) => one.isError);
  const again = () => {
    for (const one of read) if (one.isError) void one.refetch();
  };
  return (
    <section className="px-4 pb-4" aria-labelledby="together">
      <div className="row gap-3 mb-1">
        <h2 id="together">{t.curves}</h2>
        <Spans span={span} set={setSpan} />
      </div>
      {failed ? <ErrorState what={t.curvesUnread} error={failed.error} retry={again} /> : null}
      {read.some((one) => one.isPending) ? <Skeletons count={2} height={120} /> : null}
      {known.length > 0 && known.length === read.length ? (
        <Sum nodes={shown} metrics={known} />
      ) : null}
      <p className="t2 s mt-2">
        {t.heard}
        {nodes.length > MOST ? ` ${t.curvesLeftOut(MOST, nodes.length - MOST)}` : null}
      </p>
    </section>
  );
}

type SumProps = { nodes: NodeInfo[]; metrics: Parameters<typeof sumMetrics>[0] };

function Sum({ nodes, metrics }: SumProps) {
  const read = JSON.stringify(metrics.map((one) => [one.from, one.to]));
  // Recomputed only when one of the queries has new data.
  const sum = useMemo(() => sumMetrics(metrics, Date.now()), [read]);
  const all = (of: "cpu" | "memory" | "disk") =>
    nodes.reduce((total, node) => total + (node.inventory?.[of] ?? 0), 0) || undefined;
  const [cpu, memory, disk] = [all("cpu"), all("memory"), all("disk")];
  const figures = useMemo(() => machineFigures({ cpu, memory, disk }), [cpu, memory, disk]);
  if (!sum) return null;
  return (
    <div className="grid grid-cols-1 gap-4 min-[1000px]:grid-cols-2">
      {figures.map((figure) => (
        <Curves key={figure.title} figure={figure} metrics={sum} />
      ))}
    </div>
  );
}
