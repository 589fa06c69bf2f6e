import { useQuery } from "@tanstack/react-query";
import { Fragment, type ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { pipeline as pipelineQuery } from "@/api/queries/catalog";
import { isName } from "@/components/names";
import { formatBytes, formatNumber } from "@/components/quantity";
import { StatusMark } from "@/components/Status";
import { createTexts } from "@/pages/create/createTexts";
import { deployTexts } from "@/pages/deployTexts";
import { texts } from "@/texts";
import type { Refusal } from "./refusal";

const t = createTexts;

type Props = {
  project?: Schemas["Project"];
  environment?: Schemas["Environment"];
  name: string;
  refusal: Refusal;
  /** The checks of what is in the form now. */
  checks?: ReactNode;
};

/** Beside the form: what will be made, or why it was refused. */
export function Summary({ project, environment, name, refusal, checks }: Props) {
  const query = useQuery(pipelineQuery(project?.name ?? ""));
  const steps = query.data?.pipeline.steps ?? [];
  const open = steps
    .filter((step) => step.service?.ports?.some((port) => port.expose))
    .map((step) => step.key);
  const shown = isName(name) ? name : t.hostName;
  const suffix = environment?.url_suffix.replace(/^\./, "");
  return (
    <aside className="side2 flex flex-col gap-3" aria-label={t.checks}>
      <Refused refusal={refusal} />
      {checks}
      <h2>{t.checks}</h2>
      {environment && environment.nodes_online === 0 ? (
        <div className="box" data-st="warn">
          <StatusMark state="warn">
            <span className="vh">{texts.states.warn}</span>
          </StatusMark>
          <span>{t.noNodes(environment.name)}</span>
        </div>
      ) : null}
      {steps.length > 0 ? <p className="t2">{t.stepsRun(steps.length)}.</p> : null}
      {environment && open.length > 0 ? (
        <div>
          <h3 className="mb-1">{t.hosts}</h3>
          <ul className="flex flex-col gap-1">
            {open.map((step) => (
              <li key={step} className="mono wrap-anywhere">
                {`${environment.scheme}://${step}.${shown}.${suffix}`
                  .split(/(?=\.\w)/)
                  .map((part) => (
                    <Fragment key={part}>
                      {part}
                      <wbr />
                    </Fragment>
                  ))}
              </li>
            ))}
          </ul>
        </div>
      ) : null}
      {steps.length > 0 && open.length === 0 ? <p className="t2">{t.noHosts}</p> : null}
      <Lifetime project={project} environment={environment} />
    </aside>
  );
}

/** When it goes by itself: the project's rule, else the environment's. */
function Lifetime({ project, environment }: Pick<Props, "project" | "environment">) {
  if (!environment) return null;
  const hours = project?.cleanup_after_hours ?? environment.cleanup_after_hours ?? 0;
  const p = deployTexts.preflight;
  const usual = () => p.usual(p.hours(hours), !environment.ignore_visits);
  return <p className="t2">{hours > 0 ? `${usual()}.` : `${p.never}.`}</p>;
}

function Refused({ refusal }: { refusal: Refusal }) {
  const { rest, placement, request } = refusal;
  if (rest.length === 0 && placement.length === 0) return null;
  return (
    <section className="flex flex-col gap-2" role="alert">
      <div className="box" data-st="failed">
        <StatusMark state="failed">
          <span className="vh">{texts.states.failed}</span>
        </StatusMark>
        <div className="grow">
          <b>{t.refused}</b>
          {rest.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          <p className="t2 s">
            {t.other} {request ? <span className="mono">{texts.request(request)}</span> : null}
          </p>
        </div>
      </div>
      {placement.length > 0 ? <Placement rows={placement} /> : null}
    </section>
  );
}

/** Every node that was weighed, and why it was not taken. */
export function Placement({ rows }: { rows: Refusal["placement"] }) {
  const p = t.placement;
  return (
    <div className="tblf">
      <table className="tbl small">
        <thead>
          <tr>
            <th>{p.node}</th>
            <th>{p.cpu}</th>
            <th>{p.memory}</th>
            <th>{p.why}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.node}>
              <td className="mono">{row.node}</td>
              <td>{row.cpu_free === undefined ? "–" : formatNumber(row.cpu_free)}</td>
              <td className="nw">
                {row.memory_free === undefined ? "–" : formatBytes(row.memory_free)}
              </td>
              <td>{row.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
