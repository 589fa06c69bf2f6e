import { Link } from "@tanstack/react-router";
import {
  Braces,
  ChevronRight,
  FlaskConical,
  GitCompare,
  History,
  MessageSquareText,
  Redo2,
  Trash2,
  Undo2,
} from "lucide-react";
import { Button } from "@/components/Button";
import { Top } from "@/components/Shell";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { editorTexts } from "@/editor/editorTexts";
import { texts } from "@/texts";
import type { State } from "./session/drawing";

const t = editorTexts;

export type ToolbarProps = {
  project: string;
  state: State;
  changes: number;
  differs: boolean;
  whyNot?: string;
  publishing: boolean;
  onUndo: () => void;
  onRedo: () => void;
  onVersions: () => void;
  onChanges: () => void;
  onDryRun: () => void;
  onDiscard: () => void;
  onExport: () => void;
  onMerge: () => void;
  onFollow: () => void;
  onPublish: () => void;
  onNote: () => void;
};

export function Toolbar(props: ToolbarProps) {
  const { state, project, differs, changes } = props;
  const { past, future } = state.history;
  return (
    <>
      <Top>
        <div className="crumb">
          <Link to="/projects">{texts.projects.title}</Link>
          <ChevronRight className="i sm" aria-hidden="true" />
          <span className="tr">{project}</span>
          <ChevronRight className="i sm" aria-hidden="true" />
          <h1>{t.title}</h1>
        </div>
        {differs ? (
          <span className="chip out nw">
            <b>{t.draft}</b> {t.from(state.base)}
          </span>
        ) : (
          <span className="chip out nw">
            {changes > 0 ? t.catalogueMoved(state.base) : t.published(state.base)}
          </span>
        )}
        <Saving state={state} />
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
      </Top>
      {state.clash ? (
        <div className="notice" data-st="stuck" role="alert">
          <StatusMark state="stuck">
            <b>
              {state.clash.kind === "published"
                ? t.merge.outdated(state.clash.by, state.clash.number, state.base)
                : t.merge.window}
            </b>
          </StatusMark>
          <span className="t2">{t.merge.waits}</span>
          <Button act={t.merge.decide} small className="end" onClick={props.onMerge}>
            {t.merge.decide}
          </Button>
        </div>
      ) : null}
      {state.newer && !state.clash ? (
        <div className="notice" role="status">
          <span className="t2">
            {t.merge.outdated(state.newer.by, state.newer.version, state.base)}
          </span>
          <Button
            act={t.merge.follow(state.newer.version)}
            small
            className="end"
            onClick={props.onFollow}
          >
            {t.merge.follow(state.newer.version)}
          </Button>
        </div>
      ) : null}
    </>
  );
}

/** Whether what is drawn is safe, and where. */
function Saving({ state }: { state: State }) {
  if (state.unkept && state.saving !== "saved")
    return (
      <span className="s tr" role="alert">
        <StatusMark state="failed">{t.unkept}</StatusMark>
      </span>
    );
  if (state.saving === "offline")
    return (
      <span className="s" role="status">
        <StatusMark state="offline">{t.offline}</StatusMark>
      </span>
    );
  if (state.saving === "refused")
    return (
      <span className="s tr" role="alert">
        <StatusMark state="failed">{t.refusedSave(state.why ?? "")}</StatusMark>
      </span>
    );
  return (
    <span className="s t3 nw hide-m" data-saving={state.saving} role="status">
      {state.saving === "saving" ? t.saving : null}
      {state.saving === "waiting" ? t.unsaved : null}
      {state.saving === "saved" && state.savedAt ? (
        <>
          {t.saved("")}
          <Time at={new Date(state.savedAt).toISOString()} />
        </>
      ) : null}
    </span>
  );
}
