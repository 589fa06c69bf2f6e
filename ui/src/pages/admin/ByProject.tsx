import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { projects } from "@/api/queries/catalog";
import { buttonClass } from "@/components/Button";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { shellTexts } from "@/shellTexts";
import { useListSearch } from "./useOpened";

type Project = Schemas["Project"];

type Props = {
  texts: {
    title: string;
    unread: string;
    project: string;
    noProjectTitle: string;
    noProject: string;
  };
  /** The page of one project; `pick` chooses another. `known` is absent until the projects are read. */
  children: (project: string, pick: ReactNode, known?: Project) => ReactNode;
};

/** A page of what each project has by itself. Which project is in the address; the first one without. */
export function ByProject({ texts: t, children }: Props) {
  useTitle(t.title);
  const all = useQuery(projects);
  const [search, set] = useListSearch();
  const project = String(search.project ?? all.data?.[0]?.name ?? "");
  if (project) {
    const names = new Set([...(all.data ?? []).map((one) => one.name), project]);
    const pick = (
      <select
        className="btn"
        aria-label={t.project}
        value={project}
        onChange={(event) => set({ project: event.target.value, open: undefined, q: undefined })}
      >
        {[...names].sort().map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    );
    return children(
      project,
      pick,
      all.data?.find((one) => one.name === project),
    );
  }
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <div className="body" aria-busy={all.isPending}>
        {all.isPending ? <Skeletons count={6} /> : null}
        {all.isError ? (
          <ErrorState what={t.unread} error={all.error} retry={() => void all.refetch()} />
        ) : null}
        {all.isSuccess ? (
          <EmptyState
            title={t.noProjectTitle}
            act={
              <Link to="/projects" className={buttonClass()}>
                {shellTexts.nav.projects}
              </Link>
            }
          >
            {t.noProject}
          </EmptyState>
        ) : null}
      </div>
    </>
  );
}
