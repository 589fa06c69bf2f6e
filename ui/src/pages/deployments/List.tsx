import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown } from "lucide-react";
import { type MouseEvent, useCallback, useMemo, useRef, useState } from "react";
import { ask, client, type Deployment } from "@/api/client";
import { mergeOne } from "@/api/list";
import { deployments } from "@/api/queries/deployments";
import { Button } from "@/components/Button";
import { copyText } from "@/components/Copy";
import { useKeys, useNarrow } from "@/components/Shell";
import { describe } from "@/components/States";
import { useSlots } from "@/components/slots";
import { useToast } from "@/components/Toast";
import { texts } from "@/texts";
import { type Group, groups, mainUrl } from "./filters";
import { Row } from "./Row";
import { useGroups } from "./useList";

const t = texts.list;

/** One line of the list: the head of a group, or a row of it. */
type Line = { head: Group; count: number } | { row: Deployment };

/** The rows in their groups, walked with J and K. */
export function List({ rows }: { rows: Deployment[] }) {
  const table = useRef<HTMLDivElement>(null);
  const [held, setHeld] = useState(false);
  const [selected, setSelected] = useState<string>();
  const [closed, setClosed] = useState<Partial<Record<Group, boolean>>>({});
  const { placed, moved, settle } = useGroups(rows, held);
  const say = useToast();
  const retry = useRetry();

  const lines = useMemo(() => linesOf(placed, closed), [placed, closed]);
  const order = useMemo(() => rowsOf(lines), [lines]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => table.current?.closest<HTMLElement>(".body") ?? null,
    estimateSize: (i) => ("row" in (lines[i] as Line) ? 36 : 30),
    getItemKey: (i) => keyOf(lines[i] as Line),
    overscan: 3,
    // jsdom and a hidden page have no size; some rows are drawn all the same.
    initialRect: { width: 1200, height: 900 },
  });
  const seen = virtual.getVirtualItems();
  const inSight = rowsOf(seen.map((item) => lines[item.index] as Line));
  const slots = useSlots(
    inSight.map((row) => row.id),
    selected,
  );
  // Only in a narrow window does a row's height depend on what is in it.
  const measure = useNarrow(720) ? virtual.measureElement : undefined;
  const current = useMemo(() => order.find((row) => row.id === selected), [order, selected]);
  const focus = (id: string, tries = 5) => {
    const name = table.current?.querySelector<HTMLElement>(`[data-id="${id}"] a.nm`);
    if (name) name.focus();
    // A row far away is drawn only when it has been scrolled to.
    else if (tries > 0) requestAnimationFrame(() => focus(id, tries - 1));
  };
  const move = (by: number) => {
    const at = order.findIndex((row) => row.id === selected);
    const next = order[Math.min(order.length - 1, Math.max(0, at + by))];
    if (!next) return;
    setSelected(next.id);
    virtual.scrollToIndex(lines.findIndex((line) => "row" in line && line.row === next));
    focus(next.id);
  };
  const copy = useCallback(
    async (deployment: Deployment) => {
      const url = mainUrl(deployment)?.url;
      if (!url) return say("failed", t.noUrl(deployment.name));
      if (await copyText(url)) say("done", t.urlCopied(url));
    },
    [say],
  );
  const router = useRouter();
  const follow = useCallback(
    (event: MouseEvent, { environment, name }: Deployment) => {
      // Another tab, another window, a download: the browser's to do.
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const to = "/deployments/$environment/$name/{-$tab}";
      void router.navigate({ to, params: { environment, name } });
    },
    [router],
  );
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
      <div
        ref={table}
        role="table"
        aria-label={t.title}
        aria-rowcount={lines.length + 1}
        data-scrolling={virtual.isScrolling || undefined}
      >
        <Head />
        <div
          role="rowgroup"
          style={{
            paddingTop: seen[0]?.start ?? 0,
            paddingBottom: virtual.getTotalSize() - (seen[seen.length - 1]?.end ?? 0),
          }}
        >
          {seen.map((item) => {
            const line = lines[item.index] as Line;
            return "row" in line ? (
              <Row
                key={slots.get(line.row.id)}
                deployment={line.row}
                selected={line.row.id === selected}
                index={item.index}
                measure={measure}
                onRetry={retry.mutate}
                onCopy={copy}
                onFollow={follow}
              />
            ) : (
              <GroupHead
                key={item.key}
                group={line.head}
                count={line.count}
                index={item.index}
                measure={measure}
                closed={closed[line.head] ?? false}
                toggle={() => setClosed({ ...closed, [line.head]: !closed[line.head] })}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function keyOf(line: Line): string {
  return "row" in line ? line.row.id : line.head;
}

function rowsOf(lines: Line[]): Deployment[] {
  return lines.flatMap((line) => ("row" in line ? [line.row] : []));
}

/** The groups one after the other, each under its head; a closed one is its head alone. */
function linesOf(
  placed: { row: Deployment; group: Group }[],
  closed: Partial<Record<Group, boolean>>,
) {
  const by = new Map<Group, Deployment[]>(groups.map((group) => [group, []]));
  for (const { row, group } of placed) by.get(group)?.push(row);
  return [...by].flatMap<Line>(([head, rows]) =>
    rows.length === 0
      ? []
      : [{ head, count: rows.length }, ...(closed[head] ? [] : rows.map((row) => ({ row })))],
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

type GroupProps = {
  group: Group;
  count: number;
  index: number;
  measure?: (row: HTMLElement | null) => void;
  closed: boolean;
  toggle: () => void;
};

function GroupHead({ group, count, index, measure, closed, toggle }: GroupProps) {
  return (
    <div className="gh" role="row" aria-rowindex={index + 2} data-index={index} ref={measure}>
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
