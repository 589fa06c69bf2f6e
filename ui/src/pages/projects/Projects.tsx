import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { projects } from "@/api/queries/catalog";
import { Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { bytes } from "@/components/time";
import { texts } from "@/texts";

const t = texts.projects;

/** What deployments are copies of. */
export function Projects() {
  useTitle(t.title);
  const query = useQuery(projects);
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
      </Top>
      <div className="body tblf">
        {query.isError ? (
          <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
        ) : null}
        {query.isPending ? <Skeletons count={5} /> : null}
        {query.data?.length === 0 ? <EmptyState title={t.emptyTitle}>{t.empty}</EmptyState> : null}
        {query.data && query.data.length > 0 ? (
          <table className="tbl">
            <thead>
              <tr>
                <th>{t.columns.name}</th>
                <th>{t.columns.pipeline}</th>
                <th>{t.columns.services}</th>
                <th>{t.columns.room}</th>
                <th>{t.columns.deployments}</th>
              </tr>
            </thead>
            <tbody>
              {query.data.map((project) => (
                <tr key={project.name}>
                  <td>
                    {project.pipeline_version ? (
                      <Link
                        className="hover:underline"
                        to="/projects/$name/pipeline"
                        params={{ name: project.name }}
                      >
                        <b>{project.name}</b>
                      </Link>
                    ) : (
                      <b>{project.name}</b>
                    )}
                    {project.description ? (
                      <span className="t2 s ml-2">{project.description}</span>
                    ) : null}
                  </td>
                  <td className="t2">
                    {project.pipeline_version ? `v${project.pipeline_version}` : t.noPipeline}
                  </td>
                  <td className="t2">
                    {(project.services ?? []).map((service) => service.step).join(", ")}
                  </td>
                  <td className="t2 nw">
                    {project.resources.cpu ? `${project.resources.cpu} CPU, ` : ""}
                    {project.resources.memory_mib
                      ? bytes(project.resources.memory_mib * 1024 * 1024)
                      : ""}
                  </td>
                  <td>
                    <Link className="link" to="/deployments" search={{ project: project.name }}>
                      {project.deployments}
                    </Link>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        ) : null}
      </div>
    </>
  );
}
