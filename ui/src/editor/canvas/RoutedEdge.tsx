import { BaseEdge, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import type { Spot } from "../model/document";
import { routePath } from "./routes";

/** A line that goes around the steps in its way. */
export const RoutedEdge = memo(function RoutedEdge({ id, data, interactionWidth }: EdgeProps) {
  const points = (data?.points ?? []) as Spot[];
  return <BaseEdge id={id} path={routePath(points)} interactionWidth={interactionWidth} />;
});
