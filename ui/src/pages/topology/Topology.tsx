import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Deployment } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { environments, nodes } from "@/api/queries/catalog";
import { me } from "@/api/queries/common";
import { deployments } from "@/api/queries/deployments";
import { Button } from "@/components/Button";
import { Glyph } from "@/components/Glyph";
import { LiveBadge, Top, useTitle } from "@/components/Shell";
import { EmptyState, ErrorState, Skeletons } from "@/components/States";
import { lookOf, StatusMark, stateWord } from "@/components/Status";
import { topologyTexts as t } from "@/pages/topology/topologyTexts";
import { groupOf } from "../deployments/filters";
import { NodeMeters } from "../fleet/Machines";
import { AGAIN } from "../fleet/queries";
import { MEASURED, useNodesLive } from "../nodes/useNodesLive";
import { NotFound } from "../shell/ErrorPages";
import { buildSites, type Host, hasTrouble, onlyTroubles, type Site } from "./sites";
import "./topology.css";

/** Environments, their nodes and what runs on each, with load and trouble in one picture; for admins. */
export function Topology() {
  useTitle(t.title);
  const { data: person } = useSuspenseQuery(me);
  return person.role === "admin" ? <Page /> : <NotFound />;
}

function Page() {
  const live = useNodesLive();
  const [only, setOnly] = useState(false);
  const places = useQuery({ ...environments, refetchInterval: AGAIN });
  const machines = useQuery({ ...nodes, refetchInterval: MEASURED });
  const runs = useQuery({ ...deployments, refetchInterval: AGAIN });
  const all = [places, machines, runs];
  const failed = all.find((query) => query.isError);
  const sites = useMemo(
    () =>
      places.data && machines.data && runs.data
        ? buildSites(places.data, machines.data, runs.data)
        : undefined,
    [places.data, machines.data, runs.data],
  );
  const shown = sites && only ? onlyTroubles(sites) : sites;
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <LiveBadge state={live} />
        <div className="end row">
          <Button act={t.onlyTroubles} aria-pressed={only} onClick={() => setOnly(!only)}>
            {t.onlyTroubles}
          </Button>
        </div>
      </Top>
      <div className="body" aria-busy={!sites}>
        {failed ? (
          <ErrorState
            what={t.unread}
            error={failed.error}
            retry={() => all.forEach((query) => void query.refetch())}
          />
        ) : null}
        {sites || failed ? null : <Skeletons count={10} />}
        {sites?.length === 0 ? <EmptyState title={t.emptyTitle}>{t.empty}</EmptyState> : null}
        {shown && sites && sites.length > 0 ? (
          <>
            <p className="t2 s px-4 pt-3">{t.hint}</p>
            {shown.length === 0 ? <p className="px-4 py-3">{t.allWell}</p> : null}
            {shown.map((site) => (
              <SiteView key={site.name} site={site} only={only} />
            ))}
          </>
        ) : null}
      </div>
    </>
  );
}

function SiteView({ site, only }: { site: Site; only: boolean }) {
  const { name, hosts, waiting, count, troubles } = site;
  return (
    <section className="site" aria-label={name}>
      <div className="row wrap">
        <h2>
          <Link className="hover:underline" to="/deployments" search={{ env: name }}>
            {name}
          </Link>
        </h2>
        <span className="t2 s">
          {t.nodes(hosts.length)}, {t.deployments(count)}
        </span>
        {troubles > 0 ? (
          <StatusMark state="warn" small>
            {t.troubles(troubles)}
          </StatusMark>
        ) : null}
      </div>
      {hosts.length === 0 && !only ? <p className="t2">{t.noNode}</p> : null}
      <ul className="hosts">
        {hosts.map((host) => (
          <HostView key={host.node.name} host={host} />
        ))}
        {waiting.length > 0 ? (
          <li className="host">
            <b>{t.waiting}</b>
            <Runs all={waiting} />
          </li>
        ) : null}
      </ul>
    </section>
  );
}

function HostView({ host }: { host: Host }) {
  const { node, deployments: on, troubled } = host;
  const { name, status } = node;
  return (
    <li
      className="host"
      data-st={troubled ? lookOf(status) : hasTrouble(host) ? "warn" : undefined}
    >
      <div className="row">
        <Link className="hover:underline tr" to="/nodes/$name" params={{ name }}>
          <b>{name}</b>
        </Link>
        <span className="end">
          <StatusMark state={status} small />
        </span>
      </div>
      <div className="meters">
        <NodeMeters node={node} />
      </div>
      {on.length === 0 ? <span className="t3 s">{t.idle}</span> : <Runs all={on} />}
    </li>
  );
}

/** So many deployments of a node are still found at a glance. */
const MOST = 24;

function Runs({ all }: { all: Deployment[] }) {
  return (
    <div className="runs">
      {all.slice(0, MOST).map((one) => (
        <Run key={one.id} deployment={one} />
      ))}
      {all.length > MOST ? <span className="t2 s">{t.more(all.length - MOST)}</span> : null}
    </div>
  );
}

/** Who needs a person says its state; of the others the glyph does, and its name for who cannot see it. */
function Run({ deployment }: { deployment: Deployment }) {
  const { name, environment, project } = deployment;
  const state = deployment.node_offline_since ? "offline" : shownState(deployment);
  const word = stateWord(state);
  const need = groupOf(deployment) === "attention";
  return (
    <Link
      to="/deployments/$environment/$name/{-$tab}"
      params={{ environment, name, tab: undefined }}
      search={{}}
      title={t.of(name, word, project)}
      data-st={lookOf(state)}
      data-need={need || undefined}
    >
      <Glyph state={state} size="sm" />
      <span className="tr">{name}</span>
      <span className={need ? undefined : "vh"}> {word}</span>
    </Link>
  );
}
