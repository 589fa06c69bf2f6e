/** What the palette adds, and where it lands. */
import type { useReactFlow } from "@xyflow/react";
import type { Spot, Step } from "../model/document";
import type { Box } from "../model/pastePlacement";

/** A new step of the palette, with the little that everybody wants. */
export function newStep(what: string, position: Spot): Step {
  const [kind, name = ""] = what.split(":");
  if (kind === "service")
    return { key: name, position, service: { name, resources: { cpu: 0.5, memory_mib: 256 } } };
  if (kind === "plugin") return { key: name, position, plugin: { name } };
  return { key: "approval", position, approval: { prompt: "", timeout_seconds: 86_400 } };
}

/** What of the drawing is seen. */
export function visibleBox(flow: ReturnType<typeof useReactFlow>): Box | undefined {
  const box = document.querySelector(".cv")?.getBoundingClientRect();
  if (!box) return undefined;
  const { x, y } = flow.screenToFlowPosition({ x: box.left, y: box.top });
  const end = flow.screenToFlowPosition({ x: box.right, y: box.bottom });
  return { x, y, width: end.x - x, height: end.y - y };
}

export function viewportCentre(flow: ReturnType<typeof useReactFlow>): Spot {
  const box = document.querySelector(".cv")?.getBoundingClientRect();
  if (!box) return { x: 0, y: 0 };
  const at = flow.screenToFlowPosition({
    x: box.left + box.width / 2 - 90,
    y: box.top + box.height / 3,
  });
  // Several that are added one after the other do not lie on top of each other.
  const by = (flow.getNodes().length % 5) * 28;
  // Two windows that add the same at once never choose one spot: it would be taken for one step.
  const apart = () => Math.random() * 24;
  return { x: at.x + by + apart(), y: at.y + by + apart() };
}
