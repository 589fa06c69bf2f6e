import { Link } from "@tanstack/react-router";
import { Activity, SquareTerminal } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/Button";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { logLinkOf } from "./ServiceLog";

const t = pageTexts;

/** From a service to its log below the list, its curves, and a terminal in it. */
export function ServiceLinks({ service }: { service: string }) {
  return (
    <>
      <Link
        id={logLinkOf(service)}
        className={buttonClass("ghost", true)}
        aria-label={t.serviceLogs(service)}
        to="."
        params={(before: object) => before}
        search={(before: object) => ({ ...before, log: service })}
        replace
      >
        {t.showLogs}
      </Link>
      <Door tab="metrics" service={service} label={reachTexts.metrics.of(service)}>
        <Activity className="i sm" aria-hidden="true" />
      </Door>
      <Door tab="terminal" service={service} label={reachTexts.terminal.label(service)}>
        <SquareTerminal className="i sm" aria-hidden="true" />
      </Door>
    </>
  );
}

type DoorProps = { tab: string; service: string; label: string; children: ReactNode };

/** On a phone the tabs lead there, and the row keeps room for the URL. */
function Door({ tab, service, label, children }: DoorProps) {
  return (
    <Link
      className={buttonClass("ghost", true, true, "hide-m")}
      aria-label={label}
      title={label}
      to="."
      params={(before: object) => ({ ...before, tab })}
      search={{ log: service }}
    >
      {children}
    </Link>
  );
}

/** Beside the run there is room for the name only: it leads to the service's log. */
export function ServiceName({ service }: { service: string }) {
  return (
    <Link
      className="tr font-semibold hover:underline"
      title={t.serviceLogs(service)}
      to="."
      params={(before: object) => ({ ...before, tab: "services" })}
      search={{ log: service }}
    >
      {service}
    </Link>
  );
}
