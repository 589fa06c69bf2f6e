import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/Button";
import { LogView } from "@/components/LogView";
import { logTexts } from "@/components/logTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { LogNotes, useEmptyText } from "./LogNotes";
import { reachesTail } from "./logStream";
import { useLogStream } from "./useLogStream";

const t = pageTexts;

/** How many lines are kept of a service that talks without end. */
const KEEP = 20_000;
/** How many lines it begins with. */
const TAIL = 500;

type Props = { id: string; service: string; name: string };

/** The last lines of a running service, and what it says from now on. */
export function ServiceLog({ id, service, name }: Props) {
  return (
    <div className="flex min-h-64 flex-1 flex-col border-line border-t">
      <Head service={service} />
      <ContainerLog {...{ id, service, name }} />
    </div>
  );
}

/** What the container of a service or a job writes, and what a job wrote that has ended. */
export function ContainerLog({ id, service, name, head }: Props & { head?: ReactNode }) {
  const path = `/api/v1/deployments/${encodeURIComponent(id)}/services/${encodeURIComponent(service)}/logs`;
  const log = useLogStream(`${path}?follow=true&tail=${TAIL}`, KEEP);
  const earlier = reachesTail(log.lines, TAIL) ? reachTexts.logs.tailOfOne(TAIL) : undefined;
  return (
    <>
      <LogNotes log={log} />
      <LogView
        head={head}
        label={t.serviceLogs(service)}
        lines={log.lines}
        cut={log.cut}
        before={earlier}
        empty={useEmptyText(log, logTexts.noneYet)}
        end={log.link === "ended" ? logTexts.ended : undefined}
        name={`${name}-${service}`}
      />
    </>
  );
}

/**
 * What a service writes from its start on, in the run that starts it. It begins before there is a
 * container, goes on when that is started again, and is still there when the service is gone.
 */
export function StartLog({
  id,
  run,
  service,
  name,
  head,
}: Props & { run: number; head: ReactNode }) {
  const query = new URLSearchParams({ source: service, run: String(run), follow: "true" });
  const log = useLogStream(
    `/api/v1/deployments/${encodeURIComponent(id)}/logs?${query}&tail=${TAIL}`,
    KEEP,
  );
  return (
    <>
      {log.trouble.map((one) => (
        <p key={one.source} className="t2 s px-4" role="status">
          {one.detail}
        </p>
      ))}
      <LogNotes log={log} />
      <LogView
        head={head}
        label={logTexts.label(service)}
        lines={log.lines}
        cut={log.cut}
        before={reachesTail(log.lines, TAIL) ? reachTexts.logs.tailOfOne(TAIL) : undefined}
        empty={useEmptyText(log, logTexts.noneYet)}
        end={log.link === "ended" ? logTexts.ended : undefined}
        name={`${name}-${service}`}
      />
    </>
  );
}

/** The link that opens the log of a service, which has the focus again when that is hidden. */
export const logLinkOf = (service: string) => `log-of-${service}`;

function Head({ service }: { service: string }) {
  return (
    <div className="svh pb-1.5">
      <h2>{t.serviceLogs(service)}</h2>
      <Link
        className={buttonClass("ghost", true, false, "end")}
        to="."
        params={(before: object) => before}
        search={(before: object) => ({ ...before, log: undefined })}
        replace
        onClick={() => document.getElementById(logLinkOf(service))?.focus()}
      >
        {t.hideLogs}
      </Link>
    </div>
  );
}
