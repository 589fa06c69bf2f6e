import "./run.css";
import "@xyflow/react/dist/base.css";
import {
  Background,
  BackgroundVariant,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type Viewport,
} from "@xyflow/react";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Progress, Step } from "@/api/client";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { edgePath, layoutGraph, type Point, STEP_HEIGHT, STEP_WIDTH } from "./graphLayout";
import { StepNode } from "./StepNode";

export type GraphProps = {
  steps: Step[];
  progress: Record<string, Progress | undefined>;
  signs?: Record<string, number[] | undefined>;
  selected?: string;
  onSelect: (key: string) => void;
};

type StepData = {
  step: Step;
  progress?: Progress;
  signs?: number[];
  selected: boolean;
  onSelect: (key: string) => void;
};
type EdgeData = { points: Point[]; state: string };

const handle = { x: STEP_WIDTH / 2, width: 1, height: 1 };
const handles = [
  { ...handle, type: "target" as const, position: Position.Top, y: 0 },
  { ...handle, type: "source" as const, position: Position.Bottom, y: STEP_HEIGHT },
];

const nodeTypes = { step: FlowStep };
const edgeTypes = { step: FlowEdge };

/** The pipeline as it runs. Steps keep their places while their states change. */
export function Graph({ steps, progress, signs, selected, onSelect }: GraphProps) {
  const shape = steps.map((step) => `${step.key}<${step.needs.join(",")}`).join(";");
  const layout = useMemo(() => layoutGraph(steps), [shape]);
  const by = useMemo(() => new Map(steps.map((step) => [step.key, step])), [steps]);
  const nodes = layout.steps.flatMap<Node<StepData>>((placed) => {
    const step = by.get(placed.key);
    if (!step) return [];
    return {
      id: placed.key,
      type: "step",
      position: { x: placed.x, y: placed.y },
      width: STEP_WIDTH,
      height: STEP_HEIGHT,
      // Told instead of measured: an edge is drawn from the first moment and through every change.
      measured: { width: STEP_WIDTH, height: STEP_HEIGHT },
      handles,
      data: {
        step,
        progress: progress[placed.key],
        signs: signs?.[placed.key],
        selected: selected === placed.key,
        onSelect,
      },
    };
  });
  const edges = layout.edges.map<Edge<EdgeData>>(({ from, to, points }) => ({
    id: `${from}>${to}`,
    source: from,
    target: to,
    type: "step",
    focusable: false,
    data: { points, state: edgeState(by.get(from), by.get(to)) },
  }));
  const [box, viewport, setViewport] = useViewport(layout.width);
  return (
    <div className="gcv" ref={box}>
      <ReactFlow
        aria-label={pageTexts.graph}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        viewport={viewport}
        onViewportChange={setViewport}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        panOnScroll
        minZoom={0.3}
        maxZoom={1}
        translateExtent={[
          [-200, -60],
          [Math.max(layout.width, 588) + 200, layout.height + 200],
        ]}
        proOptions={{ hideAttribution: false }}
      >
        <Background variant={BackgroundVariant.Dots} gap={18} size={1} />
      </ReactFlow>
    </div>
  );
}

/** Starts at the top, in the middle, and only as small as the panel's width needs. */
function useViewport(width: number) {
  const box = useRef<HTMLDivElement>(null);
  const [viewport, setViewport] = useState<Viewport>({ x: 0, y: 0, zoom: 1 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const fit = () => {
      const room = element.clientWidth;
      if (room === 0) return;
      const zoom = Math.min(1, Math.max(0.5, room / width));
      setViewport({ x: Math.max(0, (room - width * zoom) / 2), y: 0, zoom });
    };
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    return () => observer.disconnect();
  }, [width]);
  return [box, viewport, setViewport] as const;
}

function FlowStep({ data }: NodeProps<Node<StepData>>) {
  return <StepNode {...data} height={STEP_HEIGHT} />;
}

function FlowEdge({ data }: EdgeProps<Edge<EdgeData>>) {
  const points = data?.points ?? [];
  const last = points[points.length - 1];
  return (
    <g>
      <path className="edge" data-st={data?.state} d={edgePath(points)} />
      {last ? (
        <path
          className="edgehead"
          data-st={data?.state}
          d={`M${last.x - 4} ${last.y - 7}h8l-4 7z`}
        />
      ) : null}
    </g>
  );
}

/** An edge shows what passes over it: done, on the way, taken back, or not yet. */
export function edgeState(from?: Step, to?: Step): string {
  if (!from || !to) return "pending";
  if (from.status === "undone" || from.status === "undoing") return "undone";
  if (to.status === "running" || to.status === "pulling" || to.status === "waiting")
    return from.status === "done" ? "running" : "pending";
  if (to.status === "failed" && from.status === "done") return "failed";
  return from.status === "done" && (to.status === "done" || to.status === "undone")
    ? "done"
    : "pending";
}
