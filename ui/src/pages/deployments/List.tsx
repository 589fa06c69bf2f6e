import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ChevronDown } from "lucide-react";
import { useRef, useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { mergeOne } from "@/api/list";
import { deployments } from "@/api/queries/deployments";
import { Button } from "@/components/Button";
import { copyText } from "@/components/Copy";
import { useKeys } from "@/components/Shell";
import { describe } from "@/components/States";
import { useToast } from "@/components/Toast";
import { texts } from "@/texts";
import { type Group, groups, mainUrl } from "./filters";
import { Row } from "./Row";
import { useGroups } from "./useList";

const t = texts.list;

/** Rows drawn at first; the rest on request, so that a long list opens as fast as a short one. */
const FIRST = 300;

/** The rows in their groups, walked with J and K. */
export function List({ rows }: { rows: Deployment[] }) {
  const table = useRef<HTMLDivElement>(null);
  const [held, setHeld] = useState(false);
  const [selected, setSelected] = useState<string>();
  const [closed, setClosed] = useState<Partial<Record<Group, boolean>>>({});
  const [limit, setLimit] = useState(FIRST);
  const { placed, moved, settle } = useGroups(rows, held);
  const say = useToast();
  const retry = useRetry();

  const drawn = placed.slice(0, limit);
  const order = groups.flatMap((group) =>
    closed[group] ? [] : drawn.filter((one) => one.group === group).map((one) => one.row),
  );
  const current = order.find((row) => row.id === selected);
  const move = (by: number) => {
    const at = order.findIndex((row) => row.id === selected);
    const next = order[Math.min(order.length - 1, Math.max(0, at + by))];
    if (!next) return;
    setSelected(next.id);
    table.current?.querySelector<HTMLElement>(`[data-id="${next.id}"] a.nm`)?.focus();
  };
  const copy = async (deployment: Deployment) => {
    const url = mainUrl(deployment)?.url;
    if (!url) return say("failed", t.noUrl(deployment.name));
    if (await copyText(url)) say("done", t.urlCopied(url));
  };
  const open = (deployment: Deployment) => {
    const url = mainUrl(deployment)?.url;
    if (url) window.open(url, "_blank", "noreferrer");
    else say("failed", t.noUrl(deployment.name));
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    o: () => current && open(current),
    y: () => current && void copy(current),
  });

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notices that somebody is in the list
    <div
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(table.current?.contains(document.activeElement) ?? false)}
      onFocus={(event) => {
        setHeld(true);
        const row = event.target.closest<HTMLElement>("[data-id]");
        if (row) setSelected(row.dataset.id);
      }}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setHeld(false)}
    >
      {moved > 0 ? (
        <div className="row px-4 py-1">
          <Button small onClick={settle}>
            {t.moved(moved)}
          </Button>
        </div>
      ) : null}
      <div ref={table} role="table" aria-label={t.title}>
        <Head />
        {groups.map((group) => {
          const inside = drawn.filter((one) => one.group === group);
          if (inside.length === 0) return null;
          return (
            <div key={group} role="rowgroup">
              <GroupHead
                group={group}
                count={inside.length}
                closed={closed[group] ?? false}
                toggle={() => setClosed({ ...closed, [group]: !closed[group] })}
              />
              {closed[group]
                ? null
                : inside.map(({ row }) => (
                    <Row
                      key={row.id}
                      deployment={row}
                      selected={row.id === selected}
                      onRetry={() => retry.mutate(row)}
                      onCopy={() => void copy(row)}
                    />
                  ))}
            </div>
          );
        })}
      </div>
      {placed.length > limit ? (
        <div className="p-3">
          <Button onClick={() => setLimit(limit + FIRST)}>
            {t.showMore(Math.min(FIRST, placed.length - limit))}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

function Head() {
  const c = t.columns;
  return (
    <div role="rowgroup">
      <div className="hd cols" role="row">
        <span role="columnheader">
          <span className="vh">{c.line}</span>
        </span>
        <span role="columnheader">{c.name}</span>
        <span role="columnheader">{c.state}</span>
        <span role="columnheader">{c.version}</span>
        <span role="columnheader">{c.environment}</span>
        <span role="columnheader" className="c-o">
          {c.by}
        </span>
        <span role="columnheader" className="c-a">
          {c.active}
        </span>
        <span role="columnheader">
          <span className="vh">{c.acts}</span>
        </span>
      </div>
    </div>
  );
}

type GroupProps = { group: Group; count: number; closed: boolean; toggle: () => void };

function GroupHead({ group, count, closed, toggle }: GroupProps) {
  return (
    <div className="gh" role="row">
      <span role="cell">
        <button type="button" aria-expanded={!closed} onClick={toggle}>
          <ChevronDown className="i sm" aria-hidden="true" />
          <b>{t.groups[group]}</b>
          <span className="t3">{count}</span>
        </button>
      </span>
    </div>
  );
}

/** Retry from the list: the row changes in place, by the answer and then by the stream. */
function useRetry() {
  const cache = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (deployment: Deployment) =>
      ask(
        client.POST("/api/v1/deployments/{id}/retry", { params: { path: { id: deployment.id } } }),
      ),
    onSuccess: (told) => {
      cache.setQueryData(deployments.queryKey, (list) => list && mergeOne(list, told));
      say("done", texts.page.retryAsked(told.name));
    },
    onError: (error) => say("failed", texts.page.refused(describe(error).message)),
  });
}
