import { useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { lazy, type MouseEvent, Suspense, useCallback, useMemo, useRef, useState } from "react";
import type { Deployment } from "@/api/client";
import { me } from "@/api/queries/common";
import { loadChunk } from "@/components/loadChunk";
import { useKeys, useNarrow } from "@/components/Shell";
import { useSlots } from "@/components/slots";
import { useLoadMore } from "@/components/useLoadMore";
import { texts } from "@/texts";
import { groupsBy } from "./arrange";
import { useColumns } from "./columns";
import type { Filters, Group } from "./filters";
import { GroupHead, Head } from "./ListHeads";
import { keyOf, type Line, linesOf, rowsOf } from "./listLines";
import type { Grouping } from "./listOrder";
import { MovedNotice } from "./MovedNotice";
import { isTall, Row } from "./Row";
import { useRowHold } from "./rowHold";
import { useStars } from "./stars";
import { useHoverHold } from "./useHoverHold";
import { useMarks } from "./useMarks";
import { useRetry } from "./useRetry";
import { useRowActions } from "./useRowActions";
import { useScrollRestore } from "./useScrollRestore";

const RowActs = lazy(() => loadChunk(() => import("./RowActs")));

const RowMenu = lazy(() => loadChunk(() => import("./RowMenu")));

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

/** The heights that the style sheet gives them, in px. */
function heightOf(line: Line): number {
  if (!("row" in line)) return 30;
  return isTall(line.row) ? 58 : 36;
}

/** Moves the focus to a row's name. A row far away is drawn only when it has been scrolled to. */
function focusRow(table: HTMLElement, id: string, tries = 5) {
  const name = table.querySelector<HTMLElement>(`[data-id="${id}"] a.nm`);
  if (name) name.focus();
  else if (tries > 0) requestAnimationFrame(() => focusRow(table, id, tries - 1));
}

type DrawnProps = {
  /** The lines in sight. */
  seen: VirtualItem[];
  lines: Line[];
  slots: ReturnType<typeof useSlots>;
  selected?: string;
  marks: ReturnType<typeof useMarks>;
  stars: ReadonlySet<string>;
  measure?: (row: HTMLElement | null) => void;
  retry: (deployment: Deployment) => void;
  copy: (deployment: Deployment) => void;
  follow: (event: MouseEvent, deployment: Deployment) => void;
  openMenu: (deployment: Deployment, anchor: HTMLElement) => void;
  closed: Partial<Record<Group, boolean>>;
  setClosed: (closed: Partial<Record<Group, boolean>>) => void;
  grouping?: Grouping;
};

/** The lines in sight: heads of groups, and rows. */
function Drawn(props: DrawnProps) {
  const { seen, lines, slots, selected, marks, stars, measure, closed, setClosed } = props;
  return seen.map((item) => {
    const line = lines[item.index] as Line;
    return "row" in line ? (
      <Row
        key={slots.get(line.row.id)}
        deployment={line.row}
        selected={line.row.id === selected}
        marked={marks.has(line.row.id)}
        starred={stars.has(line.row.id)}
        index={item.index}
        measure={measure}
        onRetry={props.retry}
        onCopy={props.copy}
        onFollow={props.follow}
        onMark={marks.toggle}
        onMenu={props.openMenu}
      />
    ) : (
      <GroupHead
        key={item.key}
        group={line.head}
        grouping={props.grouping}
        count={line.count}
        index={item.index}
        measure={measure}
        closed={closed[line.head] ?? false}
        toggle={() => setClosed({ ...closed, [line.head]: !closed[line.head] })}
      />
    );
  });
}

/** The rows in their groups, walked with J and K. */
export function List({ rows, filters, flat, onEnd }: Props) {
  const table = useRef<HTMLDivElement>(null);
  const { held, on } = useHoverHold();
  const { was, useKept } = useScrollRestore();
  const [selected, setSelected] = useState(was?.selected);
  const [closed, setClosed] = useState(was?.closed ?? {});
  const view = JSON.stringify(filters);
  const { data: person } = useSuspenseQuery(me);
  const { stars, toggle: star } = useStars(person.name);
  const groupOf = useMemo(
    () => (flat ? endedGroup : groupsBy(filters.group, (id) => stars.has(id))),
    [flat, filters.group, stars],
  );
  const shown = useColumns();
  const how = { groupOf, held, view: view + [...stars].join() };
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
    estimateSize: (i) => heightOf(lines[i] as Line),
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
  const [menu, setMenu] = useState<{ on: Deployment; anchor: HTMLElement }>();
  const openMenu = useCallback(
    (on: Deployment, anchor: HTMLElement) => setMenu({ on, anchor }),
    [],
  );
  const navigate = useNavigate();
  const sortBy = (sort?: string) =>
    void navigate({ to: ".", search: (before: object) => ({ ...before, sort }), replace: true });
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    o: () => current && open(current),
    y: () => current && void copy(current),
    x: () => current && marks.toggle(current.id),
    s: () => current && star(current.id),
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
        {...shown.table}
      >
        <Head
          sort={filters.sort}
          onSort={flat ? undefined : sortBy}
          marked={marks.rows.length}
          rows={order.length}
          markAll={marks.toggleAll}
          shown={shown}
        />
        <div
          role="rowgroup"
          style={{
            paddingTop: seen[0]?.start ?? 0,
            paddingBottom: virtual.getTotalSize() - (seen[seen.length - 1]?.end ?? 0),
          }}
        >
          <Drawn
            {...{ seen, lines, slots, selected, marks, stars, measure, copy, follow, closed }}
            retry={retry.mutate}
            openMenu={openMenu}
            setClosed={setClosed}
            grouping={filters.group}
          />
        </div>
      </div>
      {menu ? (
        <Suspense fallback={null}>
          <RowMenu
            key={menu.on.id}
            {...menu}
            close={() => setMenu(undefined)}
            filters={filters}
            marked={marks.has(menu.on.id)}
            mark={marks.toggle}
            starred={stars.has(menu.on.id)}
            star={star}
            open={open}
            copy={copy}
          />
        </Suspense>
      ) : null}
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
