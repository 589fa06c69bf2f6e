import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { lazy, Suspense, useMemo } from "react";
import { isNotFound } from "@/api/client";
import { deploymentByName } from "@/api/queries/deployments";
import { CopyButton } from "@/components/Copy";
import { load } from "@/components/load";
import { Live, Top, useKeys, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { stateWord } from "@/components/Status";
import { reachTexts } from "@/reachTexts";
import type { PageSearch } from "@/routes";
import { texts } from "@/texts";
import { NotFound } from "../shell/Problems";
import { Header } from "./Header";
import { History } from "./History";
import { RunTab } from "./RunTab";
import { Services } from "./Services";
import { TimeStrip } from "./TimeStrip";
import { useSteps, useWatched } from "./useWatched";

const named = getRouteApi("/app/deployments/$environment/$name/{-$tab}");
const permalink = getRouteApi("/app/d/$id/{-$tab}");
const Capsule = lazy(() =>
  load(() => import("./Capsule")).then((module) => ({ default: module.Capsule })),
);
const Logs = lazy(() => load(() => import("./Logs")));
const Metrics = lazy(() => load(() => import("./Metrics")));
const Terminal = lazy(() => load(() => import("./Terminal")));
const shownTabs = ["run", "services", "logs", "metrics", "terminal", "history", "capsule"];
const t = texts.page;

/** By its place: the deployment of that name that is there, or the record of the newest one. */
export function ByName() {
  const { environment, name, tab } = named.useParams();
  const search = named.useSearch();
  const found = useQuery(deploymentByName(environment, name));
  if (found.isPending) return <Loading name={name} />;
  if (isNotFound(found.error)) return <NotFound />;
  if (found.isError)
    return <ErrorState what={t.unread} error={found.error} retry={() => void found.refetch()} />;
  return <Page key={found.data.id} id={found.data.id} tab={tab} search={search} />;
}

/** By its id: for ever, also after removal. */
export function ById() {
  const { id, tab } = permalink.useParams();
  return <Page key={id} id={id} tab={tab} search={permalink.useSearch()} />;
}

function Loading({ name }: { name: string }) {
  return (
    <>
      <Top>
        <Crumbs name={name} />
      </Top>
      <Skeletons count={10} height={44} />
    </>
  );
}

function Crumbs({ name }: { name: string }) {
  return (
    <div className="crumb">
      <Link to="/deployments" search={{}}>
        {t.crumbs}
      </Link>
      <ChevronRight className="i sm" aria-hidden="true" />
      <b className="tr" title={name}>
        {name}
      </b>
      <CopyButton text={name} what={name} />
    </div>
  );
}

type PageProps = { id: string; tab?: string; search: PageSearch };

function Page({ id, tab, search }: PageProps) {
  const watch = useWatched(id);
  const { deployment, watched } = watch;
  const number = search.run ?? deployment?.run ?? 0;
  const steps = useSteps(id, number, watched);
  const navigate = useNavigate();
  useTitle(...(deployment ? [stateWord(deployment.status), deployment.name] : [texts.list.title]));
  const tabs = ["run", "services", "history"] as const;
  const go = (to: string) =>
    void navigate({
      to: ".",
      params: (before: object) => ({ ...before, tab: to }),
      search: (before: Record<string, unknown>) => before,
    });
  useKeys({ "1": () => go(tabs[0]), "2": () => go(tabs[1]), "3": () => go(tabs[2]) });
  const progress = useMemo(() => {
    const of = Object.values(watched.progress).filter((one) => one.run === number);
    return Object.fromEntries(of.map((one) => [one.step, one]));
  }, [watched.progress, number]);
  const signs = useMemo(() => {
    const of = Object.entries(watched.signs).filter(([key]) => key.startsWith(`${number}/`));
    return Object.fromEntries(of.map(([key, at]) => [key.slice(key.indexOf("/") + 1), at]));
  }, [watched.signs, number]);

  if (!deployment) {
    if (isNotFound(watch.error)) return <NotFound />;
    if (watch.error)
      return <ErrorState what={t.unread} error={watch.error} retry={watch.refetch} />;
    return <Loading name="" />;
  }
  const shown = tab && shownTabs.includes(tab) ? tab : firstTab(deployment.status, search);
  return (
    <>
      <Top>
        <Crumbs name={deployment.name} />
        <Live state={watch.live} className="end" />
      </Top>
      <div className="runpage flex min-h-0 flex-1 flex-col">
        <Header deployment={deployment} steps={steps.steps} run={steps.run} />
        <TimeStrip steps={steps.steps} />
        <Tabs shown={shown} services={deployment.services.length} runs={deployment.run} />
        {shown === "run" ? (
          <RunTab
            watch={watch}
            deployment={deployment}
            number={number}
            steps={steps}
            progress={progress}
            signs={signs}
            search={search}
          />
        ) : null}
        {shown === "services" ? <Services deployment={deployment} open={search.log} /> : null}
        {shown === "history" ? <History deployment={deployment} /> : null}
        <Suspense fallback={<Skeletons count={8} height={44} />}>
          {shown === "capsule" ? <Capsule id={id} /> : null}
          {shown === "logs" ? (
            <Logs deployment={deployment} steps={steps.steps} chosen={search.log} at={search.at} />
          ) : null}
          {shown === "metrics" ? <Metrics deployment={deployment} /> : null}
          {shown === "terminal" ? <Terminal deployment={deployment} /> : null}
        </Suspense>
      </div>
    </>
  );
}

/** A ready deployment opens on its URLs, everything else on the run. */
function firstTab(status: string, search: PageSearch): "run" | "services" {
  return status === "ready" && search.run === undefined && search.step === undefined
    ? "services"
    : "run";
}

function Tabs({ shown, services, runs }: { shown: string; services: number; runs: number }) {
  const tabs: [string, string, number][] = [
    ["run", t.tabs.run, 0],
    ["services", t.tabs.services, services],
    ["logs", reachTexts.tabs.logs, 0],
    ["metrics", reachTexts.tabs.metrics, 0],
    ["terminal", reachTexts.tabs.terminal, 0],
    ["history", t.tabs.history, runs],
  ];
  return (
    <nav className="tabs line" aria-label={t.crumbs}>
      {tabs.map(([tab, label, count]) => (
        <Link
          key={tab}
          className="tab"
          to="."
          params={(before: object) => ({ ...before, tab })}
          search={{}}
          aria-current={shown === tab ? "page" : undefined}
          activeProps={{ "aria-current": shown === tab ? "page" : undefined }}
        >
          {label} {count > 0 ? <span className="n">{count}</span> : null}
        </Link>
      ))}
    </nav>
  );
}
