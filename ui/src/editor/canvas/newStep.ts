/** New steps from the palette, and their positions. */
import type { useReactFlow } from "@xyflow/react";
import type { Catalogue } from "../model/catalogue";
import type { Spot, Step } from "../model/document";
import type { Box } from "../model/freeSpot";

/** A new step from the palette, as its service says that one begins, or with sensible defaults. */
export function newStep(what: string, position: Spot, catalogue?: Catalogue): Step {
  const [kind, name = ""] = what.split(":");
  if (kind === "service")
    return {
      key: name,
      position,
      service: {
        resources: { cpu: 0.5, memory_mib: 256 },
        ...structuredClone(catalogue?.services.get(name)?.step),
        name,
      },
    };
  if (kind === "job")
    return { key: "job", position, job: { name, resources: { cpu: 0.5, memory_mib: 256 } } };
  if (kind === "plugin") return { key: name, position, plugin: { name } };
  if (kind === "script")
    return {
      key: "script",
      position,
      script: { source: "export default ({parameters}) => ({outputs: {}});\n" },
    };
  return { key: "approval", position, approval: { prompt: "", timeout_seconds: 86_400 } };
}

/** The visible part of the canvas, in document coordinates. */
export function visibleBox(flow: ReturnType<typeof useReactFlow>): Box | undefined {
  const box = document.querySelector(".cv")?.getBoundingClientRect();
  if (!box) return undefined;
  const { x, y } = flow.screenToFlowPosition({ x: box.left, y: box.top });
  const end = flow.screenToFlowPosition({ x: box.right, y: box.bottom });
  return { x, y, width: end.x - x, height: end.y - y };
}

/** The middle of what is in sight, a little above, and never twice the same. */
export function viewportCentre(flow: ReturnType<typeof useReactFlow>): Spot {
  const box = document.querySelector(".cv")?.getBoundingClientRect();
  if (!box) return { x: 0, y: 0 };
  const at = flow.screenToFlowPosition({
    x: box.left + box.width / 2,
    y: box.top + box.height / 3,
  });
  // Two windows that add the same step at once must not choose one position: merging would take
  // both for one step.
  const apart = () => Math.random() * 24;
  return { x: at.x + apart(), y: at.y + apart() };
}
