import { Button } from "@/components/Button";
import { StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { editorTexts } from "@/editor/editorTexts";
import type { State } from "./session/drawing";
import type { ToolbarProps } from "./toolbarProps";

const t = editorTexts;

/** Says that somebody else published, or saved what conflicts. */
export function Notices({ state, onMerge, onFollow }: ToolbarProps) {
  return (
    <>
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
          <Button act={t.merge.decide} small className="end" onClick={onMerge}>
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
            onClick={onFollow}
          >
            {t.merge.follow(state.newer.version)}
          </Button>
        </div>
      ) : null}
    </>
  );
}

/** Whether what is drawn is safe, and where. */
export function Saving({ state }: { state: State }) {
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
