import "@xyflow/react/dist/base.css";
import {
  Background,
  BackgroundVariant,
  ConnectionMode,
  type Edge,
  type NodeChange,
  ReactFlow,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { type DragEvent, type MouseEvent, useCallback, useMemo, useRef } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Problem } from "../model/problems";
import { FlowComment } from "./CommentNode";
import { CanvasActs, type CanvasNode, ZOOMED_OUT_BELOW, ZoomedOut } from "./canvasNodes";
import type { CanvasProps } from "./canvasProps";
import { focusField } from "./connections";
import { FlowGroup } from "./GroupNode";
import { Guides } from "./Guides";
import { Minimap } from "./Minimap";
import { OverviewEdges } from "./OverviewEdges";
import { RoutedEdge } from "./RoutedEdge";
import { FlowStep } from "./StepNode";
import type { PortEnd } from "./stepConnections";
import { useEdges } from "./useCanvasEdges";
import { useNodes } from "./useCanvasNodes";
import { useCanvasSelection } from "./useCanvasSelection";
import { useConnecting } from "./useConnecting";
import { useDragging } from "./useDragging";
import { useFirstView, useKeepInSight } from "./useSight";
import { Zoom } from "./Zoom";

const t = editorTexts;
const nodeTypes = { step: FlowStep, comment: FlowComment, frame: FlowGroup };
const edgeTypes = { routed: RoutedEdge };
/** What the library says by itself, in our words. */
const SPOKEN = {
  "node.a11yDescription.default": t.spoken.node,
  "node.a11yDescription.keyboardDisabled": t.spoken.node,
  "node.a11yDescription.ariaLiveMessage": ({ x, y }: { x: number; y: number }) =>
    t.spoken.moved(Math.round(x), Math.round(y)),
  "edge.a11yDescription.default": t.spoken.line,
  "handle.ariaLabel": t.spoken.port,
};
const NONE: Problem[] = [];
// Each property that is a new object makes the library ask all that is drawn what it means.
const NO_EDGES: Edge[] = [];
const SEVERAL = ["Meta", "Control"];

export function Canvas(props: CanvasProps) {
  const { chosen } = props;
  const { dragged, guides, drag } = useDragging(props.onMove);
  const far = useStore((state) => state.transform[2] < ZOOMED_OUT_BELOW);
  const nodes = useNodes(props, dragged);
  const edges = useEdges(props, nodes, dragged);
  const last = useRef(nodes);
  last.current = nodes;
  const connecting = useConnecting(props);
  const { chooseNodes, chooseEdges } = useCanvasSelection(
    chosen,
    props.chosenEdges,
    props.onChoose,
  );
  const first = useFirstView(props.doc, chosen);
  useKeepInSight(chosen);
  const change = useCallback(
    (changes: NodeChange<CanvasNode>[]) => {
      chooseNodes(changes);
      drag(changes, last.current);
    },
    [chooseNodes, drag],
  );
  const acts = useActs(props);
  const gestures = useGestures(props);
  return (
    <CanvasActs value={acts}>
      <ZoomedOut value={far}>
        <ReactFlow<CanvasNode, Edge>
          aria-label={t.canvas}
          ariaLabelConfig={SPOKEN}
          nodes={nodes}
          edges={far ? NO_EDGES : edges}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          onNodesChange={change}
          onEdgesChange={chooseEdges}
          onConnect={props.onConnect}
          isValidConnection={connecting.judge}
          onConnectStart={connecting.start}
          onConnectEnd={connecting.end}
          connectOnClick={false}
          {...gestures}
          connectionMode={ConnectionMode.Strict}
          connectionRadius={18}
          // By key lines are let go of in the inspector: hundreds of them would come before any step.
          edgesFocusable={false}
          onlyRenderVisibleElements
          nodeDragThreshold={3}
          // A step that is only moved does not open the inspector, which would move the canvas.
          selectNodesOnDrag={false}
          minZoom={0.15}
          maxZoom={2}
          fitView
          fitViewOptions={first}
          deleteKeyCode={null}
          selectionKeyCode="Shift"
          multiSelectionKeyCode={SEVERAL}
          zoomOnDoubleClick={false}
          // The corners have the tools and the map.
          attributionPosition="bottom-center"
        >
          <Background variant={BackgroundVariant.Dots} gap={20} size={1.2} />
          {far ? <OverviewEdges nodes={nodes} edges={edges} dragged={dragged} /> : null}
          <Guides guides={guides} />
          {nodes.length > 0 ? (
            <Minimap
              nodes={nodes}
              dragged={dragged}
              bad={(key) => (props.problems.get(key) ?? NONE).some((one) => !one.advice)}
            />
          ) : null}
          <Zoom onTidy={props.onTidy} onFind={props.onFind} />
        </ReactFlow>
      </ZoomedOut>
    </CanvasActs>
  );
}

/** What steps, ports and comments do by themselves; always the same functions. */
function useActs(props: CanvasProps) {
  const now = useRef(props);
  now.current = props;
  return useMemo(
    () => ({
      comment: (index: number, text: string) => now.current.onComment(index, text),
      plus: (end: PortEnd, at: DOMRect) => now.current.onPlus(end, { x: at.right + 6, y: at.top }),
    }),
    [],
  );
}

const NOTHING = new Set<string>();

/** Dropping, pressing once, twice and with the other button. */
function useGestures(props: CanvasProps) {
  const flow = useReactFlow();
  const now = useRef(props);
  now.current = props;
  return useMemo(() => {
    const spot = (event: { clientX: number; clientY: number }) => ({
      x: event.clientX,
      y: event.clientY,
    });
    const menu = (event: Event | MouseEvent, of: Parameters<CanvasProps["onMenu"]>[0]) => {
      event.preventDefault();
      now.current.onMenu(of, spot(event as MouseEvent));
    };
    return {
      onDragOver: (event: DragEvent) => {
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        const what = event.dataTransfer.getData("application/x-nullops-step");
        if (what) return now.current.onDrop(what, flow.screenToFlowPosition(spot(event)));
        const [file] = event.dataTransfer.files;
        if (file) now.current.onFile(file);
      },
      /** One press chooses one, also of several that are chosen. */
      onNodeClick: (event: MouseEvent, { id }: CanvasNode) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        now.current.onChoose(new Set([id]), NOTHING);
      },
      onNodeDoubleClick: (_: MouseEvent, { type }: CanvasNode) => {
        if (type === "step") focusField("key");
      },
      onDoubleClick: (event: MouseEvent) => {
        if (!(event.target as Element).classList.contains("react-flow__pane")) return;
        now.current.onPlus(undefined, spot(event));
      },
      onNodeContextMenu: (event: MouseEvent, { id }: CanvasNode) => menu(event, { node: id }),
      onEdgeContextMenu: (event: MouseEvent, { id }: Edge) => menu(event, { line: id }),
      onPaneContextMenu: (event: Event | MouseEvent) => menu(event, {}),
    };
  }, [flow]);
}
