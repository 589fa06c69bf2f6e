import { useVirtualizer } from "@tanstack/react-virtual";
import { lazy, Suspense, useMemo, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import { loadChunk } from "@/components/loadChunk";
import { useKeys, useNarrow } from "@/components/Shell";
import { useSlots } from "@/components/slots";
import { useLoadMore } from "@/components/useLoadMore";
import { texts } from "@/texts";
import { type Filters, type Group, groupOf } from "./filters";
import { GroupHead, Head } from "./ListHeads";
import { keyOf, type Line, linesOf, rowsOf } from "./listLines";
import { MovedNotice } from "./MovedNotice";
import { Row } from "./Row";
import { useRowHold } from "./rowHold";
import { useHoverHold } from "./useHoverHold";
import { useMarks } from "./useMarks";
import { useRetry } from "./useRetry";
import { useRowActions } from "./useRowActions";
import { useScrollRestore } from "./useScrollRestore";

const RowActs = lazy(() => loadChunk(() => import("./RowActs")));

const t = texts.list;
const endedGroup = (): Group => "ended";

type Props = {
  rows: Deployment[];
  /** What they were chosen by. */
  filters: Filters;
  /** Without groups, in the order given. */
  flat?: boolean;
  /** Called when the last rows come into sight: there may be more to read. */
  onEnd?: () => void;
};

/** Moves the focus to a row's name. A row far away is drawn only when it has been scrolled to. */
function focusRow(table: HTMLElement, id: string, tries = 5) {
  const name = table.querySelector<HTMLElement>(`[data-id="${id}"] a.nm`);
  if (name) name.focus();
  else if (tries > 0) requestAnimationFrame(() => focusRow(table, id, tries - 1));
}

/** The rows in their groups, walked with J and K. */
export function List({ rows, filters, flat, onEnd }: Props) {
  const table = useRef<HTMLDivElement>(null);
  const { held, on } = useHoverHold();
  const { was, useKept } = useScrollRestore();
  const [selected, setSelected] = useState(was?.selected);
  const [closed, setClosed] = useState(was?.closed ?? {});
  const view = JSON.stringify(filters);
  const how = { groupOf: flat ? endedGroup : groupOf, held, view };
  const { placed, moved, settle } = useRowHold({ rows, ...how });
  const retry = useRetry();

  const lines = useMemo(
    () => (flat ? placed.map(({ row }) => ({ row })) : linesOf(placed, closed)),
    [flat, placed, closed],
  );
  const order = useMemo(() => rowsOf(lines), [lines]);
  const box = () => table.current?.closest<HTMLElement>(".body") ?? null;
  useKept(box, { selected, closed });
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: box,
    initialOffset: was?.top,
    estimateSize: (i) => ("row" in (lines[i] as Line) ? 36 : 30),
    getItemKey: (i) => keyOf(lines[i] as Line),
    overscan: 3,
    // jsdom and a hidden page have no size; some rows are drawn all the same.
    initialRect: { width: 1200, height: 900 },
  });
  const seen = virtual.getVirtualItems();
  useLoadMore(seen[seen.length - 1]?.index ?? -1, lines.length, onEnd);
  const inSight = rowsOf(seen.map((item) => lines[item.index] as Line));
  const slots = useSlots(
    inSight.map((row) => row.id),
    selected,
  );
  // Only in a narrow window does a row's height depend on what is in it.
  const measure = useNarrow(720) ? virtual.measureElement : undefined;
  const current = useMemo(() => order.find((row) => row.id === selected), [order, selected]);
  const marks = useMarks(order);
  const acted = marks.rows.length > 0 ? marks.rows : current ? [current] : [];
  const move = (by: number) => {
    const at = order.findIndex((row) => row.id === selected);
    const next = order[Math.min(order.length - 1, Math.max(0, at + by))];
    if (!next) return;
    setSelected(next.id);
    virtual.scrollToIndex(lines.findIndex((line) => "row" in line && line.row === next));
    if (table.current) focusRow(table.current, next.id);
  };
  const { copy, follow, open } = useRowActions();
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    o: () => current && open(current),
    y: () => current && void copy(current),
    x: () => current && marks.toggle(current.id),
    Escape: marks.clear,
  });

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notices that somebody is in the list
    <div
      {...on}
      onFocus={(event) => {
        on.onFocus();
        const row = event.target.closest<HTMLElement>("[data-id]");
        if (row) setSelected(row.dataset.id);
      }}
    >
      <MovedNotice count={moved} settle={settle} />
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
                marked={marks.has(line.row.id)}
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
      {acted.length > 0 ? (
        <Suspense fallback={null}>
          <RowActs
            on={acted}
            marked={marks.rows.length > 0}
            clear={marks.clear}
            keep={marks.keep}
            filters={filters}
          />
        </Suspense>
      ) : null}
    </div>
  );
}
