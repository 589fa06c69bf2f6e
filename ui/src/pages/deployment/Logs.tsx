import { useEffect, useMemo, useState } from "react";
import type { Deployment, Step } from "@/api/client";
import { Button } from "@/components/Button";
import type { LogRow } from "@/components/LogLine";
import { LogView } from "@/components/LogView";
import { reachTexts } from "@/pages/deployment/reachTexts";
import { EarlierRunNotice } from "./EarlierRunNotice";
import { LogNotes, useEmptyText } from "./LogNotes";
import { LogTools } from "./LogTools";
import { downloadQuery, isTail, streamQuery, TAIL, type Wish } from "./logAddress";
import { isMissed, type LogStream, reachesTail } from "./logStream";
import type { PageSearch } from "./search";
import { useLogStream } from "./useLogStream";
import { addressOf, useSearchChange } from "./useSearchChange";

const t = reachTexts.logs;

/** How many lines the page keeps; the rest is in the download. */
const KEEP = 20_000;
/** Opened for one line, it keeps more, so that what came later does not push that line out. */
const KEEP_BEHIND = 200_000;

type Props = { deployment: Deployment; steps: Step[]; search: PageSearch };

/** All services and steps in one log, merged by time, also of a deployment that is gone. */
export default function Logs({ deployment, steps, search }: Props) {
  const { at, log: chosen } = search;
  const run = search.run === deployment.run ? undefined : search.run;
  const sources = useSources(run ? none : deployment.services, steps);
  const picked = chosen ? chosen.split(",").filter((one) => sources.includes(one)) : [];
  const wish: Wish = { sources: picked, find: search.find, run, since: useSince(search.since), at };
  const path = `/api/v1/deployments/${encodeURIComponent(deployment.id)}/logs`;
  const log = useLogStream(`${path}?${streamQuery(wish)}`, at ? KEEP_BEHIND : KEEP);
  const change = useSearchChange();
  // What is looked for may be far before the lines that are here: the server looks in all of them.
  const far = useMemo(
    () => ({
      text: search.find,
      apply: (find?: string) => change({ find, at: undefined }),
    }),
    [search.find, change],
  );
  const tools = { sources, picked, search, change };
  return (
    <div className="flex min-h-0 flex-1 flex-col pt-2">
      {run ? <EarlierRunNotice number={run} /> : null}
      {log.trouble.map((one) => (
        <p key={one.source} className="t2 s px-4" role="status">
          {t.trouble(one.source, one.detail)}
        </p>
      ))}
      <LogNotes log={log} />
      {at ? <Missed key={at} log={log} at={at} leave={() => change({ at: undefined })} /> : null}
      <LogView
        head={<LogTools {...tools} />}
        whole={{
          address: `${path}/download?${downloadQuery(wish)}`,
          label: search.find === undefined ? t.download : t.downloadFound,
        }}
        label={t.label(deployment.name)}
        lines={log.lines}
        cut={log.cut}
        before={isTail(wish) && reachesTail(log.lines, TAIL) ? t.tail(TAIL) : undefined}
        empty={useEmptyText(log, t.empty)}
        end={log.link === "ended" ? t.ended : undefined}
        name={deployment.name}
        target={at}
        link={linkTo}
        go={({ id }) => change({ at: id, find: undefined })}
        sources={sources}
        far={far}
      />
    </div>
  );
}

/** How long a log may be silent before the line is given up, in ms. */
const PATIENCE = 5000;

type MissedProps = { log: LogStream; at: string; leave: () => void };

/** Says that the line of the link is not there, once it would be. */
function Missed({ log, at, leave }: MissedProps) {
  const [waited, setWaited] = useState(false);
  const live = log.link === "live";
  useEffect(() => {
    if (!live) return;
    const timer = setTimeout(() => setWaited(true), PATIENCE);
    return () => clearTimeout(timer);
  }, [live]);
  const found = log.lines.some((line) => line.id === at);
  if (found || !(isMissed(log, at) || (live && waited))) return null;
  return (
    <p className="row wrap s px-4 py-1" role="status">
      <b>{t.missed}</b> <span className="t2">{t.missedWhy}</span>
      <Button small onClick={leave}>
        {t.newest}
      </Button>
    </p>
  );
}

/** The page's own address, with the line in it and all others around that. */
function linkTo({ id }: LogRow): string | undefined {
  return id ? addressOf({ at: id, find: undefined }) : undefined;
}

/** An earlier run has its steps only: what its services wrote is kept with them. */
const none: Deployment["services"] = [];

function useSources(services: Deployment["services"], steps: Step[]): string[] {
  return useMemo(
    () => [...new Set([...services, ...steps].map((one) => ("key" in one ? one.key : one.step)))],
    [services, steps],
  );
}

/** Times are counted from when they are chosen, or the address is opened. */
function useSince(span?: number): string | undefined {
  return useMemo(
    () => (span ? new Date(Date.now() - span * 1000).toISOString() : undefined),
    [span],
  );
}
