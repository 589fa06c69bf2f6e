import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Deployment, Run } from "@/api/client";
import { runs } from "@/api/queries/deployments";
import { plainText } from "@/components/ansi";
import { BidiSafe } from "@/components/BidiSafe";
import { shortenMiddle } from "@/components/names";
import { Skeletons } from "@/components/States";
import { Time } from "@/components/Time";
import { formatDuration } from "@/components/time";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { workingTime } from "./elapsedTime";
import { OutcomeMark } from "./OutcomeMark";
import { outcomeOfRun, sayFailure } from "./outcome";
import { ReadFailed } from "./ReadFailed";

const t = pageTexts.history;

/** Every run of this deployment, newest first: who, what, when, and how it ended. */
export function History({ deployment }: { deployment: Deployment }) {
  const query = useQuery(runs(deployment.id));
  const refetch = query.refetch;
  useEffect(() => void refetch(), [deployment.run, deployment.status, refetch]);
  const unread = <ReadFailed what={pageTexts.historyUnread} query={query} />;
  if (!query.data) return query.isError ? unread : <Skeletons count={4} />;
  return (
    <div className="body tblf">
      {unread}
      <p className="px-4 py-2">
        <Link className="link" to="/deployments/diff" search={{ a: deployment.id }}>
          {pageTexts.compareWith}
        </Link>
      </p>
      <table className="tbl">
        <thead>
          <tr>
            <th>{t.run}</th>
            <th>{t.state}</th>
            <th>{t.pipeline}</th>
            <th>{t.versions}</th>
            <th>{t.by}</th>
            <th>{t.at}</th>
            <th>{t.took}</th>
          </tr>
        </thead>
        <tbody>
          {query.data.items.map((run) => (
            <Line key={run.id} run={run} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ run }: { run: Run }) {
  const chosen = run.versions.filter((version) => version.tag_mode === "selectable");
  const all = run.versions
    .map((version) => `${version.step} ${version.tag} ${version.digest}`)
    .join("\n");
  return (
    <tr>
      <td>
        <Link
          className="link"
          to="."
          params={(before: object) => ({ ...before, tab: "run" })}
          search={{ run: run.number }}
          aria-label={t.show(run.number)}
        >
          {run.number}
        </Link>
      </td>
      <td>
        <span className="row">
          <OutcomeMark {...outcomeOfRun(run)} />
          <span className="t2 s tr max-w-80" title={plainText(sayFailure(run.failure))}>
            <BidiSafe text={sayFailure(run.failure)} />
          </span>
        </span>
      </td>
      <td className="t2">v{run.pipeline_version}</td>
      <td title={all}>
        <span className="row">
          {chosen.slice(0, 2).map((version) => (
            <span key={version.step} className="chip">
              <span className="t2">{version.step}</span>
              <span className="mono">{shortenMiddle(version.tag)}</span>
            </span>
          ))}
          {chosen.length > 2 ? <span className="t2 s">+{chosen.length - 2}</span> : null}
        </span>
      </td>
      <td className="t2">{run.started_by}</td>
      <td className="t2">
        <Time at={run.created_at} />
      </td>
      <td className="t2">
        {run.ended_at ? formatDuration(workingTime(run.steps, run.ended_at, 0)) : ""}
      </td>
    </tr>
  );
}
