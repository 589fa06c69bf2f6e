import "@xyflow/react/dist/base.css";
import {
  Background,
  BackgroundVariant,
  type Connection,
  ConnectionMode,
  type Edge,
  type FinalConnectionState,
  type HandleType,
  type NodeChange,
  ReactFlow,
  useReactFlow,
  useStore,
  ViewportPortal,
} from "@xyflow/react";
import { Maximize, Minus, Plus, Wand2 } from "lucide-react";
import { type DragEvent, useCallback, useMemo, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import type { Mark } from "../compare/ChangeBadge";
import { type Catalogue, describeKind, orderOf } from "../model/catalogue";
import type { Doc, Spot } from "../model/document";
import { commentId } from "../model/edit";
import type { Problem } from "../model/problems";
import {
  type CanvasNode,
  COMMENT_WIDTH,
  CommentActs,
  commentHeight,
  FlowComment,
  FlowStep,
  handlesOf,
  spotOf,
  ZOOMED_OUT_BELOW,
  ZoomedOut,
} from "./canvasNodes";
import { edgesOf, keepUnchangedEdges } from "./edges";
import { Minimap } from "./Minimap";
import { OverviewEdges } from "./OverviewEdges";
import { compareEdges, findRemovedSteps, hasBothPorts } from "./removedSteps";
import { type Guide, shapeOf, WIDTH } from "./stepGeometry";
import { useCanvasSelection } from "./useCanvasSelection";
import { useDragging } from "./useDragging";

const t = editorTexts;
const nodeTypes = { step: FlowStep, comment: FlowComment };
const NONE: Problem[] = [];
// Each property that is a new object makes the library ask all that is drawn what it means.
const FIT = { padding: 0.15, maxZoom: 1 };
const NO_EDGES: Edge[] = [];
const NO_PROBLEMS = new Map<string, Problem[]>();
const GHOST = { draggable: false, selectable: false, connectable: false, focusable: false };
const SEVERAL = ["Meta", "Control"];

export type CanvasProps = {
  doc: Doc;
  catalogue: Catalogue;
  problems: Map<string, Problem[]>;
  marks?: Map<string, Mark>;
  /** What it is compared with: what is gone is drawn too. */
  before?: Doc;
  chosen: Set<string>;
  chosenEdges: Set<string>;
  onChoose: (nodes: Set<string>, edges: Set<string>) => void;
  onMove: (spots: Map<string, Spot>) => void;
  onConnect: (connection: Connection) => void;
  /** Why a connection cannot be made; null when it can. */
  judge: (connection: Connection) => string | null;
  /** A connection was let go where nothing takes it. */
  onLoose: (state: FinalConnectionState, event: MouseEvent | TouchEvent, why?: string) => void;
  onDragPort: (source: { node: string; handle: string } | null) => void;
  onDrop: (what: string, at: Spot) => void;
  onComment: (index: number, text: string) => void;
  onTidy: () => void;
};

export function Canvas(props: CanvasProps) {
  const { chosen } = props;
  const flow = useReactFlow();
  const { dragged, guides, drag } = useDragging(props.onMove);
  const far = useStore((state) => state.transform[2] < ZOOMED_OUT_BELOW);
  const nodes = useNodes(props, dragged);
  const edges = useEdges(props, nodes);
  const last = useRef(nodes);
  last.current = nodes;
  const connecting = useConnecting(props);
  const { chooseNodes, chooseEdges } = useCanvasSelection(
    chosen,
    props.chosenEdges,
    props.onChoose,
  );
  // Who comes by a link to a step sees that step.
  const [first] = useState(() => {
    const [only] = chosen;
    const found = chosen.size === 1 && props.doc.steps.some((step) => step.key === only);
    return found && only ? { nodes: [{ id: only }], padding: 0.8, maxZoom: 1 } : FIT;
  });

  const change = useCallback(
    (changes: NodeChange<CanvasNode>[]) => {
      chooseNodes(changes);
      drag(changes, last.current);
    },
    [chooseNodes, drag],
  );

  const drop = (event: DragEvent) => {
    const what = event.dataTransfer.getData("application/x-nullops-step");
    if (!what) return;
    event.preventDefault();
    props.onDrop(what, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }));
  };

  return (
    <CommentActs value={props.onComment}>
      <ZoomedOut value={far}>
        <ReactFlow<CanvasNode, Edge>
          aria-label={t.canvas}
          nodes={nodes}
          edges={far ? NO_EDGES : edges}
          nodeTypes={nodeTypes}
          onNodesChange={change}
          onEdgesChange={chooseEdges}
          onConnect={props.onConnect}
          isValidConnection={connecting.judge}
          onConnectStart={connecting.start}
          onConnectEnd={connecting.end}
          onDragOver={(event) => {
            event.preventDefault();
            event.dataTransfer.dropEffect = "copy";
          }}
          onDrop={drop}
          connectionMode={ConnectionMode.Strict}
          connectionRadius={18}
          // By key lines are let go of in the inspector: hundreds of them would come before any step.
          edgesFocusable={false}
          onlyRenderVisibleElements
          nodeDragThreshold={3}
          minZoom={0.15}
          maxZoom={2}
          fitView
          fitViewOptions={first}
          deleteKeyCode={null}
          selectionKeyCode="Shift"
          multiSelectionKeyCode={SEVERAL}
          zoomOnDoubleClick={false}
        >
          <Background variant={BackgroundVariant.Dots} gap={20} size={1.2} />
          {far ? <OverviewEdges nodes={nodes} edges={edges} dragged={dragged} /> : null}
          <Guides guides={guides} />
          <Minimap
            nodes={nodes}
            dragged={dragged}
            bad={(key) => (props.problems.get(key) ?? NONE).some((one) => !one.advice)}
          />
          <Zoom onTidy={props.onTidy} />
        </ReactFlow>
      </ZoomedOut>
    </CommentActs>
  );
}

type Start = { nodeId: string | null; handleId: string | null; handleType: HandleType | null };

/** What happens while a connection is drawn, always by the same functions. */
function useConnecting({ judge, onDragPort, onLoose }: CanvasProps) {
  return useMemo(() => {
    let why: string | undefined;
    return {
      judge: (connection: Connection | Edge) => {
        why = judge(connection as Connection) ?? undefined;
        return why === undefined;
      },
      start: (_: unknown, { nodeId, handleId, handleType }: Start) => {
        why = undefined;
        const source = nodeId && handleId && handleType === "source";
        onDragPort(source ? { node: nodeId, handle: handleId } : null);
      },
      end: (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
        onDragPort(null);
        // A line that ends on no port is only let go: what was said of a port before is past.
        if (!state.isValid) onLoose(state, event, state.toHandle ? why : undefined);
      },
    };
  }, [judge, onDragPort, onLoose]);
}

/** The edges of what is drawn, and of what it is compared with. */
function useEdges(props: CanvasProps, nodes: CanvasNode[]): Edge[] {
  const { doc, before, catalogue, problems, chosenEdges } = props;
  const known = useRef(new Map<string, Edge>());
  const lines = useMemo(
    () => keepUnchangedEdges(edgesOf(doc, catalogue, problems), known.current),
    [doc, catalogue, problems],
  );
  known.current = useMemo(() => new Map(lines.map((line) => [line.id, line])), [lines]);
  const now = useMemo(() => withChosen(lines, chosenEdges), [lines, chosenEdges]);
  const old = useMemo(() => before && edgesOf(before, catalogue, NO_PROBLEMS), [before, catalogue]);
  // Where a step stands says nothing of its ports.
  const ports = useRef(nodes);
  ports.current = nodes;
  return useMemo(
    () => (old ? compareEdges(now, old, hasBothPorts(ports.current)) : now),
    [now, old],
  );
}

function withChosen(lines: Edge[], chosen: Set<string>): Edge[] {
  if (chosen.size === 0) return lines;
  return lines.map((line) => (chosen.has(line.id) ? { ...line, selected: true } : line));
}

/** The nodes for React Flow. Unchanged ones keep their identity and are not rendered again. */
function useNodes(props: CanvasProps, dragged?: Map<string, Spot>): CanvasNode[] {
  const { doc, catalogue, problems, marks, chosen } = props;
  const known = useRef(new Map<string, { inputs: unknown[]; node: CanvasNode }>());
  const order = useMemo(() => orderOf(doc), [doc]);
  const ghosts = useMemo(() => findRemovedSteps(props.before, doc), [props.before, doc]);
  return useMemo(() => {
    const next = new Map<string, { inputs: unknown[]; node: CanvasNode }>();
    const once = (id: string, inputs: unknown[], make: () => CanvasNode) => {
      const old = known.current.get(id);
      const same = old && inputs.every((input, i) => input === old.inputs[i]);
      const entry = same ? old : { inputs, node: make() };
      next.set(id, entry);
      return entry.node;
    };
    const rank = new Map(order.map((key, i) => [key, i]));
    const all = doc.steps.length;
    const steps = [...doc.steps, ...ghosts].map((step, index) => {
      const shape = shapeOf(step, catalogue);
      const gone = index >= doc.steps.length;
      const at = gone ? 0 : (rank.get(step.key) ?? index) + 1;
      const found = problems.get(step.key) ?? NONE;
      const mark = marks?.get(step.key);
      const spot = dragged?.get(step.key);
      const selected = chosen.has(step.key);
      const size = { width: WIDTH, height: shape.height };
      return once(step.key, [step, shape, at, all, found, mark, spot, selected], () => ({
        id: step.key,
        type: "step",
        position: spot ?? spotOf(step, index),
        ...size,
        measured: size,
        handles: handlesOf(shape),
        selected,
        ariaLabel: [
          step.key,
          describeKind(step),
          gone ? t.panel.removed : t.order(at, all),
          ...countProblems(found),
        ].join(", "),
        data: { step, shape, at, problems: found, mark },
        ...(gone ? GHOST : {}),
      }));
    });
    // Tab goes along the order in which steps run.
    steps.sort((a, b) => (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0));
    const comments = doc.comments.map((comment, index) => {
      const id = commentId(index);
      const spot = dragged?.get(id);
      const selected = chosen.has(id);
      const size = { width: COMMENT_WIDTH, height: commentHeight(comment) };
      return once(id, [comment, spot, selected, index], () => ({
        id,
        type: "comment",
        position: spot ?? spotOf(comment, index),
        ...size,
        measured: size,
        selected,
        ariaLabel: t.commentLabel,
        data: { comment, index },
      }));
    });
    known.current = next;
    return [...comments, ...steps];
  }, [doc, catalogue, order, ghosts, problems, marks, chosen, dragged]);
}

/** How much is wrong with a step, in words. */
function countProblems(problems: Problem[]): string[] {
  const errors = problems.filter((one) => !one.advice).length;
  const advice = problems.length - errors;
  return [...(errors > 0 ? [t.errors(errors)] : []), ...(advice > 0 ? [t.advice(advice)] : [])];
}

function Guides({ guides }: { guides: Guide[] }) {
  if (guides.length === 0) return null;
  return (
    <ViewportPortal>
      {guides.map((guide) => (
        <div
          key={guide.axis}
          className={`guide ${guide.axis}`}
          style={
            guide.axis === "x"
              ? { left: guide.at, top: guide.from, height: guide.to - guide.from }
              : { top: guide.at, left: guide.from, width: guide.to - guide.from }
          }
        />
      ))}
    </ViewportPortal>
  );
}

function Zoom({ onTidy }: { onTidy: () => void }) {
  const flow = useReactFlow();
  const zoom = useStore((state) => Math.round(state.transform[2] * 100));
  return (
    <div className="zoom menu">
      <Button look="ghost" small icon aria-label={t.zoomOut} onClick={() => void flow.zoomOut()}>
        <Minus className="i sm" aria-hidden="true" />
      </Button>
      <span className="s t2 zv">{zoom} %</span>
      <Button look="ghost" small icon aria-label={t.zoomIn} onClick={() => void flow.zoomIn()}>
        <Plus className="i sm" aria-hidden="true" />
      </Button>
      <span className="vr" />
      <Button
        look="ghost"
        small
        icon
        act={t.fit}
        aria-label={t.fit}
        title={t.fit}
        onClick={() => void flow.fitView(FIT)}
      >
        <Maximize className="i sm" aria-hidden="true" />
      </Button>
      <Button act={t.tidy} look="ghost" small title={t.tidyTitle} onClick={onTidy}>
        <Wand2 className="i sm" aria-hidden="true" /> {t.tidy}
      </Button>
    </div>
  );
}
