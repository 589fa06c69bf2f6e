import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/Button";
import { LogView } from "@/components/LogView";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { texts } from "@/texts";
import { LogNotes, useEmptyText } from "./LogNotes";
import { reachesTail } from "./logStream";
import { useLogStream } from "./useLogStream";

const t = texts.page;

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
        empty={useEmptyText(log, texts.log.noneYet)}
        end={log.link === "ended" ? texts.log.ended : undefined}
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
