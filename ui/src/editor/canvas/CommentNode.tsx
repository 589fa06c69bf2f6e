import type { NodeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { editorTexts } from "@/editor/editorTexts";
import { CanvasActs, type CommentNodeType, linesOf } from "./canvasNodes";

const t = editorTexts;

export const FlowComment = memo(function FlowComment({
  data,
  selected,
}: NodeProps<CommentNodeType>) {
  const acts = useContext(CanvasActs);
  return (
    <div className={`note ${selected ? "on" : ""}`}>
      <textarea
        className="nodrag nowheel"
        aria-label={t.commentLabel}
        placeholder={t.commentEmpty}
        value={data.comment.text}
        maxLength={2000}
        rows={linesOf(data.comment.text)}
        onChange={(event) => acts.comment(data.index, event.target.value)}
      />
    </div>
  );
});
