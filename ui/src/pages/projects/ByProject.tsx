import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { projects } from "@/api/queries/catalog";
import { buttonClass } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { formTexts as t } from "@/forms/formTexts";
import { useListSearch } from "@/lists/useOpenSheet";
import { shellTexts } from "@/pages/shell/shellTexts";

type Project = Schemas["Project"];

/** Why a project is not known: for the acts that need it, and for the page. */
export type Lack = { reason: string; said?: ReactNode };

type Props = {
  texts: {
    title: string;
    unread: string;
    project: string;
    noProjectTitle: string;
    noProject: string;
  };
  /** The page of one project; `pick` chooses another. Either the project is known, or why not. */
  children: (project: string, pick: ReactNode, known?: Project, lack?: Lack) => ReactNode;
};

function lackOf(project: string, all: UseQueryResult<Project[]>): Lack {
  if (all.isError)
    return {
      reason: t.projectsUnread,
      said: (
        <ErrorState what={t.projectsUnread} error={all.error} retry={() => void all.refetch()} />
      ),
    };
  if (all.isPending) return { reason: t.projectsRead };
  const reason = t.projectUnknown(project);
  return {
    reason,
    said: (
      <div className="box m-4" data-st="warn" role="alert">
        {reason}
      </div>
    ),
  };
}

/** A page of what each project has by itself. Which project is in the address; the first one without. */
export function ByProject({ texts, children }: Props) {
  useTitle(texts.title);
  const all = useQuery(projects);
  const [search, set] = useListSearch();
  const project = String(search.project ?? all.data?.[0]?.name ?? "");
  if (project) {
    const names = new Set([...(all.data ?? []).map((one) => one.name), project]);
    const known = all.data?.find((one) => one.name === project);
    const pick = (
      <select
        className="btn"
        aria-label={texts.project}
        value={project}
        onChange={(event) => set({ project: event.target.value, open: undefined, q: undefined })}
      >
        {[...names].sort().map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    );
    return children(project, pick, known, known ? undefined : lackOf(project, all));
  }
  return (
    <>
      <Top>
        <h1>{texts.title}</h1>
      </Top>
      <div className="body" aria-busy={all.isPending}>
        {all.isPending ? <Skeletons count={6} /> : null}
        {all.isError ? (
          <ErrorState what={texts.unread} error={all.error} retry={() => void all.refetch()} />
        ) : null}
        {all.isSuccess ? (
          <EmptyState
            title={texts.noProjectTitle}
            act={
              <Link to="/projects" className={buttonClass()}>
                {shellTexts.nav.projects}
              </Link>
            }
          >
            {texts.noProject}
          </EmptyState>
        ) : null}
      </div>
    </>
  );
}
