import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Deployment } from "@/api/client";
import { shownState } from "@/api/deploymentState";
import { comments } from "@/api/queries/talk";
import type { Watched } from "@/api/run";
import { loadChunk } from "@/components/loadChunk";
import { LiveBadge, useTitle } from "@/components/Shell";
import { ErrorState, Skeletons } from "@/components/States";
import { stateWord } from "@/components/Status";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { texts } from "@/texts";
import { Header } from "./Header";
import { History } from "./History";
import { Head } from "./PageHead";
import { PageOffers } from "./PageOffers";
import { Loading, Unreadable } from "./PageStates";
import { RunTab } from "./RunTab";
import { Services } from "./Services";
import { firstTab, type PageSearch, shownRun } from "./search";
import { markUnknown, nothingHeard, useIsStale } from "./staleState";
import { isTab, Tabs, useTabKeys } from "./Tabs";
import { TimeStrip } from "./TimeStrip";
import { useCause } from "./useCause";
import { useDeploymentStream, useSteps, type Watch } from "./useDeploymentStream";

const Capsule = lazy(() =>
  loadChunk(() => import("./Capsule")).then((module) => ({ default: module.Capsule })),
);
const Comments = lazy(() => loadChunk(() => import("./Comments")));
const Compare = lazy(() => loadChunk(() => import("./Compare")));
const Details = lazy(() => loadChunk(() => import("./Details")));
const Inbox = lazy(() => loadChunk(() => import("./Inbox")));
const Logs = lazy(() => loadChunk(() => import("./Logs")));
const Metrics = lazy(() => loadChunk(() => import("./Metrics")));
const Verdict = lazy(() => loadChunk(() => import("./Verdict")));
const Terminal = lazy(() => loadChunk(() => import("./Terminal")));

type PageProps = { id: string; tab?: string; search: PageSearch };

/** One deployment, with the stream that keeps it in step. */
export function Page({ id, tab, search }: PageProps) {
  const watch = useDeploymentStream(id);
  const { deployment } = watch;
  useTitle(
    ...(deployment ? [stateWord(shownState(deployment)), deployment.name] : [texts.list.title]),
  );
  if (deployment) return <Known watch={watch} deployment={deployment} tab={tab} search={search} />;
  if (watch.error) return <Unreadable error={watch.error} retry={watch.refetch} />;
  return <Loading />;
}

type KnownProps = { watch: Watch; deployment: Deployment; tab?: string; search: PageSearch };

function Known({ watch, deployment, tab, search }: KnownProps) {
  // Decided once: when the deployment becomes ready while the user watches the run, the tab stays.
  const [first] = useState(() => firstTab(deployment.status, search));
  const shown = tab && isTab(tab) ? tab : first;
  useTabKeys(shown);
  // What is said of the deployment is said of its latest run, whichever one is looked at.
  const latest = useSteps(deployment.id, deployment.run, watch.watched);
  const before = useIsStale(watch.live, deployment);
  const cause = useCause(deployment, deployment.run);
  return (
    <>
      <Head name={deployment.name}>
        <LiveBadge state={watch.live} className="end" />
      </Head>
      <PageOffers deployment={deployment} />
      <div className="runpage flex min-h-0 flex-1 flex-col">
        <Header
          deployment={deployment}
          steps={latest.steps}
          run={latest.run}
          before={before}
          cause={cause}
        />
        {watch.error ? (
          <ErrorState what={pageTexts.unread} error={watch.error} retry={watch.refetch} />
        ) : null}
        <Shown
          watch={watch}
          deployment={deployment}
          shown={shown}
          search={search}
          before={before}
        />
      </div>
    </>
  );
}

type ShownProps = {
  watch: Watch;
  deployment: Deployment;
  shown: string;
  search: PageSearch;
  /** What is shown is from before: see `useIsStale`. */
  before: boolean;
};

/** The tabs, and the one that is open, of the run that is looked at. */
function Shown({ watch, deployment, shown, search, before }: ShownProps) {
  const number = shownRun(shown, search, deployment.run);
  const read = useSteps(deployment.id, number, watch.watched);
  const heard = useOfRun(watch.watched, number);
  const steps = before ? { ...read, steps: markUnknown(read.steps, heard.progress) } : read;
  const { progress, signs } = before ? nothingHeard : heard;
  const cause = useCause(deployment, number);
  const said = useQuery({ ...comments(deployment.id), refetchInterval: 30_000 }).data?.items;
  const counts = {
    services: deployment.services.length,
    history: deployment.run,
    comments: said?.length ?? 0,
  };
  const run = { watch, deployment, number, steps, progress, signs, search, cause };
  return (
    <>
      <TimeStrip steps={steps.steps} />
      <Tabs shown={shown} level={deployment.level} counts={counts} />
      {shown === "run" ? <RunTab {...run} /> : null}
      {shown === "services" ? <Services deployment={deployment} open={search.log} /> : null}
      {shown === "history" ? <History deployment={deployment} /> : null}
      <Suspense fallback={<Skeletons count={8} height={44} />}>
        {shown === "capsule" ? <Capsule deployment={deployment} /> : null}
        {shown === "comments" ? <Comments deployment={deployment} /> : null}
        {shown === "compare" ? <Compare deployment={deployment} number={number} /> : null}
        {shown === "details" ? <Details deployment={deployment} run={steps.run} /> : null}
        {shown === "inbox" ? <Inbox deployment={deployment} search={search} /> : null}
        {shown === "logs" ? (
          <Logs deployment={deployment} steps={steps.steps} search={search} />
        ) : null}
        {shown === "metrics" ? (
          <Metrics deployment={deployment} chosen={search.span} of={search.log} />
        ) : null}
        {shown === "verdict" ? <Verdict deployment={deployment} /> : null}
        {shown === "terminal" ? <Terminal deployment={deployment} chosen={search.log} /> : null}
      </Suspense>
    </>
  );
}

/** What the stream told of one run, by step. */
function useOfRun({ progress, signs }: Watched, run: number) {
  const mine = useMemo(() => {
    const of = Object.values(progress).filter((one) => one.run === run);
    return Object.fromEntries(of.map((one) => [one.step, one]));
  }, [progress, run]);
  const beats = useMemo(() => {
    const of = Object.entries(signs).filter(([key]) => key.startsWith(`${run}/`));
    return Object.fromEntries(of.map(([key, at]) => [key.slice(key.indexOf("/") + 1), at]));
  }, [signs, run]);
  return { progress: mine, signs: beats };
}
