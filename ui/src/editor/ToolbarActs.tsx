import {
  Braces,
  FlaskConical,
  GitCompare,
  History,
  MessageSquareText,
  Redo2,
  Trash2,
  Undo2,
} from "lucide-react";
import { Button } from "@/components/Button";
import { editorTexts } from "@/editor/editorTexts";
import type { ToolbarProps } from "./toolbarProps";

const t = editorTexts;

export function ToolbarActs(props: ToolbarProps) {
  const { state, differs, changes } = props;
  const { past, future } = state.history;
  return (
    <div className="row end ebar">
      <Button
        look="ghost"
        small
        icon
        act={t.undo}
        aria-label={t.undo}
        title={t.undo}
        reason={past.length === 0 ? t.nothingToUndo : undefined}
        onClick={props.onUndo}
      >
        <Undo2 className="i sm" aria-hidden="true" />
      </Button>
      <Button
        look="ghost"
        small
        icon
        act={t.redo}
        aria-label={t.redo}
        title={t.redo}
        reason={future.length === 0 ? t.nothingToRedo : undefined}
        onClick={props.onRedo}
      >
        <Redo2 className="i sm" aria-hidden="true" />
      </Button>
      <span className="vr" />
      <Button
        look="ghost"
        small
        icon
        act={t.exportJson}
        aria-label={t.exportJson}
        title={t.exportJson}
        onClick={props.onExport}
      >
        <Braces className="i sm" aria-hidden="true" />
      </Button>
      {differs ? (
        <Button
          look="ghost"
          small
          icon
          act={t.discard}
          aria-label={t.discard}
          title={t.discard}
          onClick={props.onDiscard}
        >
          <Trash2 className="i sm" aria-hidden="true" />
        </Button>
      ) : null}
      <Button act={t.history} small onClick={props.onVersions}>
        <History className="i sm" aria-hidden="true" /> {t.history}
      </Button>
      <Button act={t.panel.changes} small onClick={props.onChanges}>
        <GitCompare className="i sm" aria-hidden="true" /> {t.panel.changes}
        {changes > 0 ? <span className="t3">{changes}</span> : null}
      </Button>
      <Button act={t.panel.dryRun} small onClick={props.onDryRun}>
        <FlaskConical className="i sm" aria-hidden="true" /> {t.panel.dryRun}
      </Button>
      <Button
        look="ghost"
        small
        icon
        act={t.withNote}
        aria-label={t.withNote}
        title={t.withNote}
        reason={props.whyNot}
        onClick={props.onNote}
      >
        <MessageSquareText className="i sm" aria-hidden="true" />
      </Button>
      <Button
        look="ink"
        small
        act={t.publish(state.base + 1)}
        reason={props.whyNot}
        busy={props.publishing && t.publishing}
        onClick={props.onPublish}
      >
        {t.publish(state.base + 1)}
      </Button>
    </div>
  );
}
