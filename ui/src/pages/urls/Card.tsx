import { Link } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import { memo } from "react";
import type { Deployment, ServiceHealth } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { buttonClass } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { MiddleTruncate } from "@/components/MiddleTruncate";
import { shortenMiddle } from "@/components/names";
import { Rail, StatusMark } from "@/components/Status";
import { Time } from "@/components/Time";
import { urlTexts as t } from "@/pages/urls/urlTexts";
import { whyClosed } from "./whyClosed";

type Props = {
  deployment: Deployment;
  /** Of which row this card is the first: it is measured there. */
  row?: number;
  /** Which one it is, of how many: most are not drawn. */
  at: number;
  of: number;
};

/** A deployment with its URLs; renders again only if the deployment changes. */
export const Card = memo(function Card({ deployment, row, at, of }: Props) {
  const open = deployment.services.filter((service) => service.url);
  const off = deployment.node_offline_since !== undefined;
  return (
    <li className="card urlcard" data-row={row} aria-posinset={at} aria-setsize={of}>
      <Rail state={off ? "offline" : shownState(deployment)} />
      <div className="row flex-wrap gap-x-3 gap-y-1">
        <Link
          className="nm hover:underline"
          to="/d/$id/{-$tab}"
          params={{ id: deployment.id }}
          aria-label={t.page(deployment.name)}
        >
          {deployment.name}
        </Link>
        <StatusMark state={shownState(deployment)} />
        {off ? (
          <span className="dt off" data-st="offline">
            {t.offline(deployment.node ?? "")}
          </span>
        ) : null}
        <span className="t2 s">
          {deployment.project}, {deployment.environment}, {t.madeBy(deployment.created_by)}{" "}
          <Time at={deployment.created_at} every={10} />
        </span>
      </div>
      <Versions deployment={deployment} />
      {open.length === 0 ? <p className="t2 s">{t.noUrls}</p> : null}
      <ul className="col gap-2">
        {open.map((service) => (
          <Address key={service.step} service={service} deployment={deployment} />
        ))}
      </ul>
    </li>
  );
});

function Versions({ deployment }: { deployment: Deployment }) {
  return (
    <ul className="row flex-wrap gap-1.5" aria-label={t.versions}>
      {deployment.versions.map((version) => (
        <li key={version.step} className="chip" title={`${version.step} ${version.tag}`}>
          {version.step} <MiddleTruncate text={shortenMiddle(version.tag, 24)} />
        </li>
      ))}
    </ul>
  );
}

function Address({ service, deployment }: { service: ServiceHealth; deployment: Deployment }) {
  const url = service.url ?? "";
  const answers =
    deployment.status === "ready" &&
    !deployment.node_offline_since &&
    service.health === "healthy" &&
    !service.ended;
  return (
    <li className="address">
      <span className="col grow">
        <span className="row">
          <b>{service.step}</b>
          <StatusMark state={service.ended ? "done" : service.health} small />
        </span>
        <span className="mono t2 tr" title={url}>
          {url}
        </span>
      </span>
      <CopyButton text={url} what={t.copy(service.step)} />
      {answers ? (
        <a
          className={buttonClass("plain", false, false, "big44")}
          href={url}
          target="_blank"
          rel="noreferrer"
          aria-label={t.open(service.step, deployment.name)}
        >
          <ExternalLink className="i sm" aria-hidden="true" />
          {service.step}
        </a>
      ) : (
        <span className="t3 s">{whyClosed(deployment)}</span>
      )}
    </li>
  );
}
