import type { NodeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { editorTexts } from "@/editor/editorTexts";
import { CanvasActs, type GroupNodeType } from "./canvasNodes";

const t = editorTexts;

/** A frame around steps, with their name in common. By it they are moved together. */
export const FlowGroup = memo(function FlowGroup({ data, selected }: NodeProps<GroupNodeType>) {
  const acts = useContext(CanvasActs);
  return (
    <div className={`frame ${selected ? "on" : ""}`}>
      <div className="fh">
        <input
          className="nodrag"
          aria-label={t.groupLabel}
          placeholder={t.groupEmpty}
          value={data.comment.text}
          maxLength={80}
          onChange={(event) => acts.comment(data.index, event.target.value)}
        />
      </div>
    </div>
  );
});
