import { useQuery } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import type { Deployment, ServiceHealth, Step } from "@/api/client";
import { deploymentMetrics, type MetricPoint } from "@/api/queries/usage";
import { BidiSafe } from "@/components/BidiSafe";
import { Button, buttonClass } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { buildCurve } from "@/components/curve";
import { formatBytes, formatNumber } from "@/components/quantity";
import { Sparkline } from "@/components/Sparkline";
import { EmptyState } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { ServiceLinks, ServiceName } from "./ServiceLinks";
import { ServiceLog } from "./ServiceLog";
import { whyClosed } from "./whyClosed";

const t = pageTexts;

/** The services with their URLs first, and the log of one of them. */
export function Services({ deployment, open }: { deployment: Deployment; open?: string }) {
  const chosen = deployment.services.find((service) => service.step === open);
  if (deployment.services.length === 0) {
    const ended = ["removed", "canceled", "failed", "forgotten"].includes(deployment.status);
    return <EmptyState title={ended ? t.gone : t.noServices} />;
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="shrink-0">
        <ServiceRows deployment={deployment} logs />
      </div>
      {chosen ? (
        <ServiceLog
          key={chosen.step}
          id={deployment.id}
          service={chosen.step}
          name={deployment.name}
        />
      ) : null}
    </div>
  );
}

type RowsProps = { deployment: Deployment; steps?: Step[]; logs?: boolean };

export function ServiceRows({ deployment, steps, logs }: RowsProps) {
  const healthy = deployment.services.filter((service) => service.health === "healthy").length;
  const order = [...deployment.services].sort(
    (a, b) => Number(Boolean(b.url)) - Number(Boolean(a.url)),
  );
  const use = useQuery({ ...deploymentMetrics(deployment.id, USE_SPAN), enabled: Boolean(logs) });
  return (
    <>
      <div className="svh">
        <h2>{t.services}</h2>
        <span className="t3 s">{t.healthyCount(healthy, deployment.services.length)}</span>
      </div>
      <ul>
        {order.map((service) => (
          <ServiceRow
            key={service.step}
            service={service}
            status={deployment.status}
            step={steps?.find((step) => step.key === service.step)}
            logs={logs}
            use={use.data?.series.find((series) => series.step === service.step)?.points}
          />
        ))}
      </ul>
    </>
  );
}

/** The small curves show half an hour. */
const USE_SPAN = 30 * 60_000;

type RowProps = {
  service: ServiceHealth;
  status: Deployment["status"];
  step?: Step;
  logs?: boolean;
  use?: MetricPoint[];
};

/** What a service uses now, in words, and its CPU over the last half hour as a curve. */
function ServiceUse({ service, points }: { service: string; points: MetricPoint[] }) {
  const last = points.at(-1);
  if (!last) return null;
  const most = Math.max(...points.map((point) => point.cpu));
  return (
    <span className="row s t2 nw">
      <Sparkline
        values={buildCurve(points, (point) => point.cpu).values}
        most={most}
        label={t.useCurve(service, formatNumber(most))}
      />
      {t.use(formatNumber(last.cpu), formatBytes(last.memory))}
    </span>
  );
}

/** The addresses of the exposed ports beside the one that the service's own URL opens. */
function FurtherPorts({ service, closed }: { service: ServiceHealth; closed?: string }) {
  const further = service.ports.filter((port) => port.url && port.url !== service.url);
  return further.map((port) => (
    <span key={port.name} className="why row s t2">
      <BidiSafe text={port.name} />
      {closed ? (
        <span title={closed}>{port.url}</span>
      ) : (
        <a className="hover:underline" href={port.url} target="_blank" rel="noreferrer">
          {port.url}
        </a>
      )}
      <CopyButton text={port.url ?? ""} what={port.url ?? ""} />
    </span>
  ));
}

function ServiceRow({ service, status, step, logs, use }: RowProps) {
  const waiting = step && (step.status === "pending" || step.status === "pulling");
  const closed = whyClosed(status, service.ended ? "stopped" : service.health, Boolean(waiting));
  const inside = service.ports.map((port) => port.port).join(", ");
  return (
    <li className={`sr ${logs ? "wide" : ""}`}>
      {logs || waiting ? (
        <b className="tr">{service.step}</b>
      ) : (
        <ServiceName service={service.step} />
      )}
      <span className="row s">
        <StatusMark state={waiting ? step.status : service.ended ? "done" : service.health} small />
        {service.restarts > 0 ? <span className="t2">{t.restarts(service.restarts)}</span> : null}
      </span>
      <span className="u tr" title={service.url}>
        {service.url ? (
          closed ? (
            <span title={closed}>{service.url}</span>
          ) : (
            <a className="hover:underline" href={service.url} target="_blank" rel="noreferrer">
              {service.url}
            </a>
          )
        ) : inside ? (
          t.inside(inside)
        ) : (
          t.noPort
        )}
      </span>
      {logs ? (
        <span className="use">
          {use ? <ServiceUse service={service.step} points={use} /> : null}
        </span>
      ) : null}
      <span className="row end gap-0">
        {logs && !waiting ? <ServiceLinks service={service.step} /> : null}
        <span className="urlacts">
          {service.url ? <CopyButton text={service.url} what={service.url} /> : null}
          {service.url ? (
            <OpenUrl url={service.url} service={service.step} closed={closed} />
          ) : null}
        </span>
      </span>
      <FurtherPorts service={service} closed={closed} />
      {service.detail && service.health !== "healthy" ? (
        <span className="why s t2">
          <BidiSafe text={service.detail} />
        </span>
      ) : null}
    </li>
  );
}

function OpenUrl({ url, service, closed }: { url: string; service: string; closed?: string }) {
  const icon = <ExternalLink className="i sm" aria-hidden="true" />;
  if (closed)
    return (
      <Button small icon look="ghost" reason={closed} aria-label={`${t.open(service)}: ${closed}`}>
        {icon}
      </Button>
    );
  return (
    <a
      className={buttonClass("ghost", true, true)}
      href={url}
      target="_blank"
      rel="noreferrer"
      aria-label={t.open(service)}
      title={t.open(service)}
    >
      {icon}
    </a>
  );
}
