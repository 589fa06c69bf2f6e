import { ViewportPortal } from "@xyflow/react";
import type { Guide } from "./stepGeometry";

export function Guides({ guides }: { guides: Guide[] }) {
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
