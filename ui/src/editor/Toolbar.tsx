import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { Top } from "@/components/Shell";
import { editorTexts } from "@/editor/editorTexts";
import { texts } from "@/texts";
import { Notices, Saving } from "./DraftState";
import { ToolbarActs } from "./ToolbarActs";
import type { ToolbarProps } from "./toolbarProps";

const t = editorTexts;

export function Toolbar(props: ToolbarProps) {
  const { state, project, differs, changes } = props;
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
        <ToolbarActs {...props} />
      </Top>
      <Notices {...props} />
    </>
  );
}
