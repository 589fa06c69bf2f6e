import { useNavigate } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useEffect, useMemo, useReducer, useState } from "react";
import type { Deployment, Schemas, Step } from "@/api/client";
import { follow } from "@/api/live";
import { Button, buttonClass } from "@/components/Button";
import { type LogRow, LogView } from "@/components/LogView";
import { reachTexts } from "@/reachTexts";

const t = reachTexts.logs;

/** How many lines the page keeps; the rest is in the download. */
const KEEP = 20_000;

type Props = { deployment: Deployment; steps: Step[]; chosen?: string; at?: string };
type Source = { key: string };

/** All services and steps in one log, merged by time, also of a deployment that is gone. */
export default function Logs({ deployment, steps, chosen, at }: Props) {
  const navigate = useNavigate();
  const [search, setSearch] = useState("");
  const [span, setSpan] = useState("all");
  const sources = useSources(deployment, steps);
  const picked = chosen ? chosen.split(",").filter((one) => sources.includes(one)) : [];
  const query = useQueryString(picked, search, span);
  const path = `/api/v1/deployments/${encodeURIComponent(deployment.id)}/logs`;
  const log = useLog(`${path}?follow=true&tail=1000${query}`, at);
  const choose = (next: string[]) =>
    void navigate({
      to: ".",
      search: (before: object) => ({ ...before, log: next.join(",") || undefined }),
      replace: true,
    });
  const toggle = ({ key }: Source) =>
    choose(picked.includes(key) ? picked.filter((one) => one !== key) : [...picked, key]);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="row wrap px-4 py-2" role="group" aria-label={t.sources}>
        <Button small aria-pressed={picked.length === 0} onClick={() => choose([])}>
          {t.all}
        </Button>
        {sources.map((key) => (
          <Button
            key={key}
            small
            look="ghost"
            aria-pressed={picked.includes(key)}
            onClick={() => toggle({ key })}
          >
            {key}
          </Button>
        ))}
        <label className="row end gap-1.5 s">
          {t.since}
          <select className="in sm" value={span} onChange={(event) => setSpan(event.target.value)}>
            {Object.entries(t.spans).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <SearchField apply={setSearch} />
        <a
          className={buttonClass("ghost", true)}
          href={`${path}/download?${query.slice(1)}`}
          download
        >
          <Download className="i sm" aria-hidden="true" />
          {t.download}
        </a>
      </div>
      {log.trouble.map((one) => (
        <p key={one.source} className="t2 s px-4" role="status">
          {t.trouble(one.source, one.detail)}
        </p>
      ))}
      <LogView
        label={t.label(deployment.name)}
        lines={log.lines}
        empty={log.out ? t.out : t.empty}
        end={log.ended ? t.ended : undefined}
        name={deployment.name}
        target={at}
        link={(row) => (row.id ? linkTo(row.id) : undefined)}
      />
    </div>
  );
}

/** The page's own address, with the line in it. */
function linkTo(id: string): string {
  const url = new URL(window.location.href);
  url.searchParams.set("at", id);
  return url.href;
}

function useSources(deployment: Deployment, steps: Step[]): string[] {
  return useMemo(
    () => [
      ...new Set([
        ...deployment.services.map((service) => service.step),
        ...steps.map((step) => step.key),
      ]),
    ],
    [deployment.services, steps],
  );
}

/** What narrows the log, as it goes behind the address; times are counted from when they are chosen. */
function useQueryString(picked: string[], search: string, span: string): string {
  const since = useMemo(
    () => (span === "all" ? "" : new Date(Date.now() - Number(span) * 1000).toISOString()),
    [span],
  );
  let query = picked.map((one) => `&source=${encodeURIComponent(one)}`).join("");
  if (search) query += `&search=${encodeURIComponent(search)}`;
  if (since) query += `&since=${encodeURIComponent(since)}`;
  return query;
}

/** Searching is the server's work: it begins when somebody is done typing. */
function SearchField({ apply }: { apply: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      className="in sm w-44"
      onSubmit={(event) => {
        event.preventDefault();
        apply(text.trim());
      }}
    >
      <input
        type="search"
        placeholder={t.search}
        aria-label={t.search}
        value={text}
        maxLength={200}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") apply("");
        }}
        onBlur={() => apply(text.trim())}
      />
    </form>
  );
}

type Trouble = Schemas["LogTrouble"];
type Log = { lines: LogRow[]; trouble: Trouble[]; ended: boolean; out: boolean };
type Change = Partial<Log> & { anew?: boolean };

const nothing: Log = { lines: [], trouble: [], ended: false, out: false };

function reduce(log: Log, change: Change): Log {
  if (change.anew) return nothing;
  const known = log.trouble.filter((one) => !change.trouble?.some((x) => x.source === one.source));
  return {
    lines: change.lines ? [...log.lines, ...change.lines].slice(-KEEP) : log.lines,
    trouble: [...known, ...(change.trouble ?? [])],
    ended: change.ended ?? log.ended,
    out: change.out ?? log.out,
  };
}

/** The stream goes on behind its last line after a break; another address is another log. */
function useLog(url: string, at?: string): Log {
  const [log, change] = useReducer(reduce, nothing);
  const from = at ? `&since=${encodeURIComponent(before(at))}` : "";
  useEffect(() => {
    change({ anew: true });
    let batch: LogRow[] = [];
    const timer = setInterval(() => {
      if (batch.length > 0) change({ lines: batch });
      batch = [];
    }, 100);
    const stop = follow({
      url: url.includes("&since=") ? url : url + from,
      onEvent: (event) => {
        if (event.event === "line") batch.push({ ...JSON.parse(event.data), id: event.id });
        if (event.event === "trouble") change({ trouble: [JSON.parse(event.data)] });
        if (event.event === "end") {
          change({ lines: batch, ended: true });
          batch = [];
          stop();
        }
      },
      onState: (state) => change({ out: state.kind === "out" }),
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [url, from]);
  return log;
}

/** A line that somebody links to is shown with a minute before it. */
function before(id: string): string {
  const at = Date.parse(id.split("/")[0] ?? "");
  return new Date((Number.isNaN(at) ? Date.now() : at) - 60_000).toISOString();
}
