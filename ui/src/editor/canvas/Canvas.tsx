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
import { type DragEvent, useCallback, useRef, useState } from "react";
import { editorTexts } from "@/editor/editorTexts";
import type { Problem } from "../model/problems";
import { FlowComment } from "./CommentNode";
import { type CanvasNode, CommentActs, ZOOMED_OUT_BELOW, ZoomedOut } from "./canvasNodes";
import type { CanvasProps } from "./canvasProps";
import { Guides } from "./Guides";
import { Minimap } from "./Minimap";
import { OverviewEdges } from "./OverviewEdges";
import { FlowStep } from "./StepNode";
import { useEdges } from "./useCanvasEdges";
import { useNodes } from "./useCanvasNodes";
import { useCanvasSelection } from "./useCanvasSelection";
import { useConnecting } from "./useConnecting";
import { useDragging } from "./useDragging";
import { Zoom } from "./Zoom";

const t = editorTexts;
const nodeTypes = { step: FlowStep, comment: FlowComment };
const NONE: Problem[] = [];
// Each property that is a new object makes the library ask all that is drawn what it means.
const FIT = { padding: 0.15, maxZoom: 1 };
const NO_EDGES: Edge[] = [];
const SEVERAL = ["Meta", "Control"];

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
